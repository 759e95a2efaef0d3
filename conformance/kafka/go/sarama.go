package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
)

var saramaCases = map[string]func(task) outcome{
	"codec": saramaCodec, "group": saramaGroup, "configs": saramaConfigs, "recreate": saramaRecreate,
	"read": saramaRead, "admin": saramaAdmin,
}

var saramaCodecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func saramaConfig(t task) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	if asked := t.options["version"]; asked != "" {
		version, err := sarama.ParseKafkaVersion(asked)
		check(err)
		config.Version = version
	}
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	return config
}

func saramaProducer(t task) sarama.SyncProducer {
	config := saramaConfig(t)
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	config.Producer.Retry.Max = 100
	config.Producer.Compression = saramaCodecs[t.options["codec"]]
	producer, err := sarama.NewSyncProducer([]string{t.address}, config)
	check(err)
	return producer
}

func saramaMessage(t task, i int) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: t.topic(), Value: sarama.ByteEncoder(message(i))}
}

// All of partition 0; `version` is the version of the requests.
func saramaRead(t task) outcome {
	consumer, err := sarama.NewConsumer([]string{t.address}, saramaConfig(t))
	check(err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(t.topic(), 0, sarama.OffsetOldest)
	check(err)
	read, limit := 0, time.After(time.Minute)
	for read < t.count() {
		select {
		case got := <-partition.Messages():
			if !strings.HasPrefix(string(got.Value), "message ") {
				check(fmt.Errorf("read %q", got.Value))
			}
			read++
		case <-limit:
			return outcome{"read": read}
		}
	}
	return outcome{"read": read}
}

func saramaCodec(t task) outcome {
	producer := saramaProducer(t)
	var batch []*sarama.ProducerMessage
	for i := 0; i < t.count(); i++ {
		batch = append(batch, saramaMessage(t, i))
	}
	check(producer.SendMessages(batch))
	check(producer.Close())
	return saramaRead(t)
}

// Each claimed partition has a goroutine of its own.
type member struct {
	wanted int64
	read   atomic.Int64
	done   context.CancelFunc
}

func (m *member) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for got := range claim.Messages() {
		session.MarkMessage(got, "")
		if m.read.Add(1) == m.wanted {
			session.Commit()
			m.done()
		}
	}
	return nil
}

func saramaJoin(t task, wanted int, patience time.Duration) int {
	group, err := sarama.NewConsumerGroup([]string{t.address}, t.options["group"], saramaConfig(t))
	check(err)
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m := &member{wanted: int64(wanted), done: cancel}
	for limit.Err() == nil {
		if err := group.Consume(limit, []string{t.topic()}, m); err != nil && limit.Err() == nil {
			check(err)
		}
	}
	check(group.Close())
	return int(m.read.Load())
}

func saramaGroup(t task) outcome {
	read := saramaJoin(t, t.count(), time.Minute)
	again := saramaJoin(t, 1, 5*time.Second)
	admin := saramaAdminOf(t)
	defer admin.Close()
	return outcome{"read": read, "again": again, "deleted": fmt.Sprint(admin.DeleteConsumerGroup(t.options["group"]))}
}

func saramaAdminOf(t task) sarama.ClusterAdmin {
	admin, err := sarama.NewClusterAdmin([]string{t.address}, saramaConfig(t))
	check(err)
	return admin
}

func saramaConfigs(t task) outcome {
	admin := saramaAdminOf(t)
	defer admin.Close()
	wanted := map[string]*string{"segment.ms": text("3600000"), "delete.retention.ms": text("1000"),
		"compression.type": text("snappy")}
	check(admin.CreateTopic(t.topic(), &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1,
		ConfigEntries: wanted}, false))
	found, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: t.topic()})
	check(err)
	for _, entry := range found {
		if want := wanted[entry.Name]; want != nil && (entry.Value != *want || entry.Default) {
			check(fmt.Errorf("%s is %s", entry.Name, entry.Value))
		}
	}
	err = admin.AlterConfig(sarama.TopicResource, t.topic(),
		map[string]*string{"min.insync.replicas": text("2")}, false)
	// The library returns the error as text only.
	refused := err != nil && strings.Contains(err.Error(), sarama.ErrInvalidConfig.Error())
	return outcome{"known": len(found), "min.insync.replicas": map[bool]int{true: int(sarama.ErrInvalidConfig)}[refused]}
}

func saramaRecreate(t task) outcome {
	producer := saramaProducer(t)
	for i := 0; i < 5; i++ {
		_, _, err := producer.SendMessage(saramaMessage(t, i))
		check(err)
	}
	admin := saramaAdminOf(t)
	defer admin.Close()
	check(admin.DeleteTopic(t.topic()))
	check(admin.CreateTopic(t.topic(), &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false))
	began := time.Now()
	_, _, err := producer.SendMessage(saramaMessage(t, 5))
	check(err)
	return outcome{"seconds": time.Since(began).Seconds()}
}

func saramaAdmin(t task) outcome {
	admin := saramaAdminOf(t)
	defer admin.Close()
	folders, err := admin.DescribeLogDirs([]int32{1})
	check(err)
	moves, err := admin.ListPartitionReassignments(t.topic(), []int32{0})
	check(err)
	quotas, err := admin.DescribeClientQuotas(nil, false)
	check(err)
	users, err := admin.DescribeUserScramCredentials(nil)
	check(err)
	return outcome{"folders": len(folders[1]), "moves": len(moves), "quotas": len(quotas), "users": len(users)}
}

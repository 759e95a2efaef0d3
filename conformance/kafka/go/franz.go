package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var franzCases = map[string]func(task) outcome{
	"codec": franzCodec, "group": franzGroup, "configs": franzConfigs, "by_id": franzByID,
	"recreate": franzRecreate, "times": franzTimes, "admin": franzAdmin,
}

var franzCodecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func franzClient(t task, options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(t.address),
		kgo.DefaultProduceTopic(t.topic()))...)
	check(err)
	return client
}

func name(err error) string {
	var known *kerr.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return fmt.Sprint(err)
}

func franzRead(client *kgo.Client, wanted int, patience time.Duration) int {
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got := 0
	for got < wanted && limit.Err() == nil {
		fetched := client.PollFetches(limit)
		fetched.EachRecord(func(record *kgo.Record) {
			if !strings.HasPrefix(string(record.Value), "message ") {
				check(fmt.Errorf("read %q", record.Value))
			}
			got++
		})
	}
	return got
}

func franzCodec(t task) outcome {
	writer := franzClient(t, kgo.ProducerBatchCompression(franzCodecs[t.options["codec"]]))
	defer writer.Close()
	for i := 0; i < t.count(); i++ {
		writer.Produce(context.Background(), &kgo.Record{Value: message(i)},
			func(_ *kgo.Record, err error) { check(err) })
	}
	check(writer.Flush(context.Background()))
	reader := franzClient(t, kgo.ConsumeTopics(t.topic()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer reader.Close()
	return outcome{"read": franzRead(reader, t.count(), time.Minute)}
}

func franzMember(t task) *kgo.Client {
	return franzClient(t, kgo.ConsumeTopics(t.topic()), kgo.ConsumerGroup(t.options["group"]),
		kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
}

func franzGroup(t task) outcome {
	first := franzMember(t)
	read := franzRead(first, t.count(), time.Minute)
	check(first.CommitUncommittedOffsets(context.Background()))
	first.Close()
	second := franzMember(t)
	again := franzRead(second, 1, 5*time.Second)
	second.Close()
	admin := kadm.NewClient(franzClient(t))
	offsets, err := admin.FetchOffsets(context.Background(), t.options["group"])
	check(err)
	committed := int64(0)
	offsets.Each(func(offset kadm.OffsetResponse) { committed += offset.At })
	deleted, err := admin.DeleteGroups(context.Background(), t.options["group"])
	check(err)
	return outcome{"read": read, "again": again, "committed": committed,
		"deleted": name(deleted[t.options["group"]].Err)}
}

func text(value string) *string { return &value }

func franzConfigs(t task) outcome {
	admin := kadm.NewClient(franzClient(t))
	background := context.Background()
	wanted := map[string]*string{"segment.ms": text("3600000"), "flush.ms": text("1000"),
		"preallocate": text("true"), "compression.type": text("gzip")}
	created, err := admin.CreateTopic(background, 2, 1, wanted, t.topic())
	check(err)
	check(created.Err)
	described, err := admin.DescribeTopicConfigs(background, t.topic())
	check(err)
	for _, config := range described[0].Configs {
		if want := wanted[config.Key]; want != nil && (config.Value == nil || *config.Value != *want ||
			config.Source != kmsg.ConfigSourceDynamicTopicConfig) {
			check(fmt.Errorf("%s is %v", config.Key, config.Value))
		}
	}
	refused, err := admin.AlterTopicConfigs(background,
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: "min.insync.replicas", Value: text("2")}}, t.topic())
	check(err)
	return outcome{"known": len(described[0].Configs), "min.insync.replicas": name(refused[0].Err)}
}

func franzByID(t task) outcome {
	client := franzClient(t)
	listed, err := kadm.NewClient(client).ListTopics(context.Background(), t.topic())
	check(err)
	request := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.TopicID = listed[t.topic()].ID
	asked.Topic = text("")
	request.Topics = append(request.Topics, asked)
	unknown := kmsg.NewMetadataRequestTopic()
	unknown.TopicID[5] = 77
	request.Topics = append(request.Topics, unknown)
	answer, err := request.RequestWith(context.Background(), client)
	check(err)
	return outcome{"name": *answer.Topics[0].Topic, "partitions": len(answer.Topics[0].Partitions),
		"unknown": name(kerr.ErrorForCode(answer.Topics[1].ErrorCode))}
}

func franzRecreate(t task) outcome {
	client := franzClient(t)
	defer client.Close()
	background := context.Background()
	for i := 0; i < 5; i++ {
		check(client.ProduceSync(background, &kgo.Record{Value: message(i)}).FirstErr())
	}
	admin := kadm.NewClient(client)
	_, err := admin.DeleteTopic(background, t.topic())
	check(err)
	_, err = admin.CreateTopic(background, 1, 1, nil, t.topic())
	check(err)
	began := time.Now()
	// The client forgets a topic whose id changed; a fresh record is sent in the new one.
	check(client.ProduceSync(background, &kgo.Record{Value: message(5)}).FirstErr())
	return outcome{"seconds": time.Since(began).Seconds()}
}

func franzTimes(t task) outcome {
	client := franzClient(t)
	defer client.Close()
	send := func(when time.Time) string {
		return name(client.ProduceSync(context.Background(),
			&kgo.Record{Value: message(0), Timestamp: when}).FirstErr())
	}
	now := time.Now()
	return outcome{"now": send(now), "early": send(time.UnixMilli(1000)), "late": send(now.Add(2 * time.Hour))}
}

func franzAdmin(t task) outcome {
	admin := kadm.NewClient(franzClient(t))
	background := context.Background()
	folders, err := admin.DescribeAllLogDirs(background, nil)
	check(err)
	size := 0
	folders.Each(func(folder kadm.DescribedLogDir) {
		if _, found := folder.Topics.Lookup(t.topic(), 0); found {
			size++
		}
	})
	moves, err := admin.ListPartitionReassignments(background, nil)
	check(err)
	partitions := kadm.TopicsSet{}
	partitions.Add(t.topic(), 0)
	elected, err := admin.ElectLeaders(background, kadm.ElectPreferredReplica, partitions)
	check(err)
	quotas, err := admin.DescribeClientQuotas(background, false, nil)
	check(err)
	users, err := admin.DescribeUserSCRAMs(background)
	check(err)
	transactions, err := admin.ListTransactions(background, nil, nil)
	check(err)
	acls, err := admin.DescribeACLs(background, kadm.NewACLs().AnyResource().
		ResourcePatternType(kadm.ACLPatternAny).Operations().Allow().AllowHosts().Deny().DenyHosts())
	check(err)
	return outcome{"folders": size, "moves": len(moves), "election": name(elected[t.topic()][0].Err),
		"quotas": len(quotas), "users": len(users), "transactions": len(transactions),
		"acls": name(acls[0].Err)}
}

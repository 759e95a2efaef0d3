// The cases of package_clients.py with the Java client: Client CASE ADDRESS KEY=VALUE...
// The last line of the output is the outcome, KEY=VALUE with spaces between them.

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Client {
  static String address;
  static Map<String, String> options = new HashMap<>();

  static Properties properties(String... pairs) {
    Properties made = new Properties();
    made.put("bootstrap.servers", address);
    made.put("request.timeout.ms", "20000");
    for (int i = 0; i < pairs.length; i += 2) made.put(pairs[i], pairs[i + 1]);
    return made;
  }

  static String topic() {
    return options.get("topic");
  }

  static int count() {
    return Integer.parseInt(options.get("count"));
  }

  static KafkaProducer<String, String> producer(String codec) {
    return new KafkaProducer<>(
        properties("compression.type", codec, "linger.ms", "5", "delivery.timeout.ms", "60000"),
        new StringSerializer(), new StringSerializer());
  }

  static KafkaConsumer<String, String> consumer(String group) {
    return new KafkaConsumer<>(
        properties("group.id", group, "auto.offset.reset", "earliest", "enable.auto.commit", "false"),
        new StringDeserializer(), new StringDeserializer());
  }

  // The simple name of the error that a call fails with; "none" when it does not.
  static String error(Future<?> call) throws InterruptedException {
    try {
      call.get();
      return "none";
    } catch (ExecutionException failed) {
      return failed.getCause().getClass().getSimpleName();
    }
  }

  static int read(KafkaConsumer<String, String> consumer, int wanted, Duration patience) {
    int got = 0;
    long limit = System.nanoTime() + patience.toNanos();
    while (got < wanted && System.nanoTime() < limit) {
      for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
        if (!record.value().startsWith("message ")) throw new RuntimeException(record.value());
        ++got;
      }
    }
    return got;
  }

  static Map<String, Object> codec() throws Exception {
    try (KafkaProducer<String, String> producer = producer(options.get("codec"))) {
      for (int i = 0; i < count(); ++i) {
        producer.send(new ProducerRecord<>(topic(), "key " + i % 10, "message " + i));
      }
    }
    try (KafkaConsumer<String, String> consumer = consumer(topic() + "-codec")) {
      consumer.subscribe(List.of(topic()));
      return Map.of("read", read(consumer, count(), Duration.ofSeconds(60)));
    }
  }

  static Map<String, Object> group() throws Exception {
    Map<String, Object> outcome = new TreeMap<>();
    try (KafkaConsumer<String, String> first = consumer(options.get("group"))) {
      first.subscribe(List.of(topic()));
      outcome.put("read", read(first, count(), Duration.ofSeconds(60)));
      first.commitSync();
    }
    try (KafkaConsumer<String, String> second = consumer(options.get("group"))) {
      second.subscribe(List.of(topic()));
      outcome.put("again", read(second, 1, Duration.ofSeconds(5)));
    }
    try (Admin admin = Admin.create(properties())) {
      outcome.put("committed", admin.listConsumerGroupOffsets(options.get("group"))
          .partitionsToOffsetAndMetadata().get().values().stream()
          .mapToLong(offset -> offset.offset()).sum());
      outcome.put("deleted", error(admin.deleteConsumerGroups(List.of(options.get("group"))).all()));
    }
    return outcome;
  }

  static Map<String, Object> configs() throws Exception {
    Map<String, Object> outcome = new TreeMap<>();
    try (Admin admin = Admin.create(properties())) {
      Map<String, String> wanted = Map.of("segment.ms", "3600000", "flush.messages", "1",
          "unclean.leader.election.enable", "true", "compression.type", "zstd",
          "min.cleanable.dirty.ratio", "0.01", "message.timestamp.type", "CreateTime");
      NewTopic topic = new NewTopic(topic(), 2, (short) 1).configs(wanted);
      admin.createTopics(List.of(topic)).all().get();
      ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic());
      Config found = admin.describeConfigs(List.of(resource)).all().get().get(resource);
      for (Map.Entry<String, String> one : wanted.entrySet()) {
        ConfigEntry entry = found.get(one.getKey());
        if (!entry.value().equals(one.getValue()) || entry.isReadOnly()
            || entry.source() != ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG) {
          throw new RuntimeException(entry.toString());
        }
      }
      outcome.put("known", found.entries().size());
      for (String refused : List.of("min.insync.replicas=2", "cleanup.policy=compact")) {
        String[] parts = refused.split("=");
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry(parts[0], parts[1]),
            AlterConfigOp.OpType.SET);
        Collection<AlterConfigOp> change = List.of(set);
        outcome.put(parts[0],
            error(admin.incrementalAlterConfigs(Map.of(resource, change)).all()));
      }
    }
    return outcome;
  }

  static Map<String, Object> byId() throws Exception {
    try (Admin admin = Admin.create(properties())) {
      Uuid id = admin.describeTopics(List.of(topic())).allTopicNames().get().get(topic()).topicId();
      TopicDescription found =
          admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id);
      Uuid unknown = Uuid.randomUuid();
      return Map.of("name", found.name(), "partitions", found.partitions().size(), "unknown",
          error(admin.describeTopics(TopicCollection.ofTopicIds(List.of(unknown))).allTopicIds()));
    }
  }

  static Map<String, Object> recreate() throws Exception {
    try (Admin admin = Admin.create(properties());
         KafkaProducer<String, String> producer = producer("none")) {
      for (int i = 0; i < 5; ++i) producer.send(new ProducerRecord<>(topic(), "message " + i)).get();
      admin.deleteTopics(List.of(topic())).all().get();
      admin.createTopics(List.of(new NewTopic(topic(), 1, (short) 1))).all().get();
      long began = System.nanoTime();
      producer.send(new ProducerRecord<>(topic(), "message 5")).get();
      return Map.of("seconds", (System.nanoTime() - began) / 1e9);
    }
  }

  static Map<String, Object> times() throws Exception {
    try (KafkaProducer<String, String> producer = producer("lz4")) {
      long now = System.currentTimeMillis();
      return Map.of("now", error(producer.send(new ProducerRecord<>(topic(), 0, now, "k", "v"))),
          "early", error(producer.send(new ProducerRecord<>(topic(), 0, 1000L, "k", "v"))),
          "late", error(producer.send(new ProducerRecord<>(topic(), 0, now + 7_200_000, "k", "v"))));
    }
  }

  static Map<String, Object> admin() throws Exception {
    Map<String, Object> outcome = new TreeMap<>();
    TopicPartition partition = new TopicPartition(topic(), 0);
    try (Admin admin = Admin.create(properties())) {
      outcome.put("acls", error(admin.describeAcls(AclBindingFilter.ANY).values()));
      outcome.put("folders", admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).values()
          .stream().filter(dir -> dir.replicaInfos().containsKey(partition)).count());
      outcome.put("moves", admin.listPartitionReassignments().reassignments().get().size());
      Optional<Throwable> election = admin.electLeaders(ElectionType.PREFERRED, Set.of(partition))
          .partitions().get().get(partition);
      outcome.put("election", election.get() instanceof ElectionNotNeededException);
      outcome.put("quotas", admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().size());
      outcome.put("users", admin.describeUserScramCredentials().users().get().size());
      outcome.put("transactions", admin.listTransactions().all().get().size());
      outcome.put("brokers", admin.describeCluster().nodes().get().size());
      outcome.put("local", admin.listOffsets(Map.of(partition, OffsetSpec.earliestLocal()))
          .partitionResult(partition).get().offset());
      outcome.put("groups", error(admin.listConsumerGroups().all()));
    }
    return outcome;
  }

  // A client that requests what is not served ends with an error, and the broker continues.
  static Map<String, Object> sasl() throws Exception {
    String login = "org.apache.kafka.common.security.plain.PlainLoginModule required "
        + "username=\"a\" password=\"b\";";
    Properties wanted = properties("security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", "PLAIN",
        "sasl.jaas.config", login, "default.api.timeout.ms", "8000");
    wanted.put("request.timeout.ms", "4000");
    try (Admin admin = Admin.create(wanted)) {
      return Map.of("refused", !error(admin.describeCluster().nodes()).equals("none"));
    }
  }

  public static void main(String[] arguments) throws Exception {
    address = arguments[1];
    for (int i = 2; i < arguments.length; ++i) {
      String[] parts = arguments[i].split("=", 2);
      options.put(parts[0], parts[1]);
    }
    Map<String, Object> outcome = switch (arguments[0]) {
      case "codec" -> codec();
      case "group" -> group();
      case "configs" -> configs();
      case "by_id" -> byId();
      case "recreate" -> recreate();
      case "times" -> times();
      case "admin" -> admin();
      case "sasl" -> sasl();
      default -> throw new IllegalArgumentException(arguments[0]);
    };
    StringBuilder line = new StringBuilder();
    for (Map.Entry<String, Object> one : new TreeMap<>(outcome).entrySet()) {
      line.append(line.length() == 0 ? "" : " ").append(one.getKey()).append('=').append(one.getValue());
    }
    System.out.println(line);
  }
}

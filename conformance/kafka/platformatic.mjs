// One scenario with @platformatic/kafka: node platformatic.mjs CASE HOST:PORT JSON. What it found is
// JSON on the last line of standard output; anything else is a failure with a reason on standard error.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import * as kafka from '@platformatic/kafka'

const [, , name, address, json] = process.argv
const options = JSON.parse(json || '{}')
const base = { clientId: 'conformance', bootstrapBrokers: [address], retries: 20, retryDelay: 200 }
const { stringSerializers: serializers, stringDeserializers: deserializers } = kafka

const valueAt = index => `message ${index} ${'abcdefgh'.repeat(index % 12)}`

async function write ({ topic, codec, count, batch = 500 }, extra = {}) {
  const producer = new kafka.Producer({ ...base, serializers, ...extra })
  for (let start = 0; start < count; start += batch) {
    const messages = []
    for (let i = start; i < Math.min(start + batch, count); i++) {
      messages.push({ topic, partition: 0, key: `k${i}`, value: valueAt(i), headers: { n: String(i) } })
    }
    await producer.send({ messages, compression: codec ?? 'none', acks: -1 })
  }
  await producer.close()
}

function newConsumer (group, extra = {}) {
  return new kafka.Consumer({ ...base, groupId: group, deserializers, maxWaitTime: 300, ...extra })
}

async function read ({ topic, count }, each) {
  const consumer = newConsumer(`read-${topic}-${process.pid}`)
  const stream = await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false })
  let seen = 0
  for await (const message of stream) {
    each(message, seen++)
    if (seen === count) break
  }
  await consumer.close(true)
}

function isMessage (message, index, plain) {
  assert.equal(message.value, plain ? `${index}` : valueAt(index))
  assert.equal(message.offset, BigInt(index))
  if (!plain) assert.equal(message.headers.get('n'), String(index))
}

async function withAdmin (work) {
  const admin = new kafka.Admin(base)
  try {
    return await work(admin)
  } finally {
    await admin.close()
  }
}

function codes (error) {
  const found = []
  const walk = one => {
    if (one?.apiCode !== undefined) found.push(one.apiCode)
    for (const inner of one?.errors ?? []) walk(inner)
    if (one?.cause) walk(one.cause)
  }
  walk(error)
  return found
}

const cases = {
  async roundtrip () {
    await write(options)
    await read(options, (message, index) => isMessage(message, index, false))
  },

  async write () {
    await write(options)
  },

  async read_plain () {
    await read(options, (message, index) => isMessage(message, index, true))
  },

  async idempotent () {
    await write(options, { idempotent: true })
    await read(options, (message, index) => isMessage(message, index, false))
  },

  async tour () {
    const { topic } = options
    await withAdmin(admin => admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 }))
    await write({ topic, count: 100 })
    await read({ topic, count: 100 }, (message, index) => isMessage(message, index, false))
    const consumer = newConsumer(`tour-${topic}`)
    const latest = await consumer.listOffsets({ topics: [topic] })
    const earliest = await consumer.listOffsets({ topics: [topic], timestamp: -2n })
    await consumer.close(true)
    await withAdmin(admin => admin.deleteTopics({ topics: [topic] }))
    return { latest: Number(latest.get(topic)[0]), earliest: Number(earliest.get(topic)[0]) }
  },

  async configs () {
    return withAdmin(async admin => {
      const resource = configs => ({ resources: [{ resourceType: 2, resourceName: options.topic, configs }] })
      const describe = async () => {
        const got = await admin.describeConfigs({
          resources: [{ resourceType: 2, resourceName: options.topic, configurationKeys: ['retention.ms'] }]
        })
        const { value, configSource } = got[0].configs[0]
        return [value, configSource]
      }
      const before = await describe()
      await admin.incrementalAlterConfigs(resource([{ name: 'retention.ms', configOperation: 0, value: '23456789' }]))
      const set = await describe()
      await admin.incrementalAlterConfigs(resource([{ name: 'retention.ms', configOperation: 1 }]))
      const removed = await describe()
      const unknown = await admin.incrementalAlterConfigs(
        resource([{ name: 'no.such.config', configOperation: 0, value: '1' }])).then(() => [0], codes)
      return { before, set, removed, unknown }
    })
  },

  async times () {
    const consumer = newConsumer(`times-${options.topic}`)
    const found = await consumer.listOffsets({ topics: [options.topic], timestamp: BigInt(options.timestamp) })
    await consumer.close(true)
    return { offsets: found.get(options.topic).map(Number) }
  },

  async delete_records () {
    return withAdmin(async admin => {
      const found = await admin.deleteRecords({
        topics: [{ name: options.topic, partitions: [{ partition: 0, offset: BigInt(options.offset) }] }]
      })
      return { low: Number(found[0].partitions[0].lowWatermark) }
    })
  },

  // As the case of the same name in kafkajs.cjs.
  async member () {
    const consumer = newConsumer(options.group, {
      sessionTimeout: 6000, heartbeatInterval: 500, rebalanceTimeout: 10000, metadataMaxAge: 1000
    })
    const report = ({ assignments }) => {
      const count = (assignments ?? []).reduce((sum, entry) => sum + entry.partitions.length, 0)
      fs.writeSync(2, `assigned ${count}\n`)
    }
    consumer.on('consumer:group:join', report)
    const stream = await consumer.consume({
      topics: [options.topic], mode: 'committed', fallbackMode: 'earliest', autocommit: false
    })
    process.once('SIGINT', () => consumer.close(true).then(() => process.exit(0), () => process.exit(1)))
    for await (const message of stream) {
      fs.writeSync(1, `${message.partition} ${message.offset} ${message.value}\n`)
      await message.commit()
    }
  }
}

cases[name]().then(found => {
  fs.writeSync(1, JSON.stringify(found ?? {}) + '\n')
  process.exit(0)
}, error => {
  fs.writeSync(2, `${error.stack || error} ${JSON.stringify(codes(error))}\n`)
  process.exit(1)
})

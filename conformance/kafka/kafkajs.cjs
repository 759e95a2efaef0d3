// One scenario with kafkajs: node kafkajs.cjs CASE HOST:PORT JSON. What it found is JSON on the last
// line of standard output; anything else is a failure with a reason on standard error.
'use strict'

const fs = require('node:fs')
const net = require('node:net')
const assert = require('node:assert/strict')
const kafkajs = require('kafkajs')

const [, , name, address, json] = process.argv
const options = JSON.parse(json || '{}')
const { CompressionTypes: Types, CompressionCodecs: Codecs } = kafkajs

const sockets = new Set()

function client (extra = {}) {
  return new kafkajs.Kafka({
    clientId: 'conformance',
    brokers: [address],
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 60, initialRetryTime: 100, maxRetryTime: 500 },
    socketFactory: ({ host, port, onConnect }) => {
      const socket = net.connect({ host, port }, onConnect)
      socket.setNoDelay(true)
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      return socket
    },
    ...extra
  })
}

async function loadCodecs () {
  Codecs[Types.Snappy] = require('kafkajs-snappy')
  const lz4 = await import('@platformatic/wasm-utils')
  Codecs[Types.LZ4] = () => ({
    compress: async encoder => lz4.lz4Compress(encoder.buffer),
    decompress: async buffer => lz4.lz4Decompress(buffer)
  })
  const zstd = require('@bokuweb/zstd-wasm')
  await zstd.init()
  Codecs[Types.ZSTD] = () => ({
    compress: async encoder => Buffer.from(zstd.compress(encoder.buffer, 3)),
    decompress: async buffer => Buffer.from(zstd.decompress(buffer))
  })
}

const CODECS = { none: Types.None, gzip: Types.GZIP, snappy: Types.Snappy, lz4: Types.LZ4, zstd: Types.ZSTD }
const valueAt = index => `message ${index} ${'abcdefgh'.repeat(index % 12)}`

async function write ({ topic, codec, count, batch = 500, partition = 0 }, producerOptions = {}) {
  const producer = client().producer(producerOptions)
  await producer.connect()
  for (let start = 0; start < count; start += batch) {
    const messages = []
    for (let i = start; i < Math.min(start + batch, count); i++) {
      messages.push({ partition, key: `k${i}`, value: valueAt(i), headers: { n: String(i) } })
    }
    await producer.send({ topic, compression: CODECS[codec], acks: -1, messages })
    if (options.progress) fs.writeSync(1, `sent ${start + messages.length}\n`)
  }
  await producer.disconnect()
}

// The first `count` messages of partition 0, in order.
async function read ({ topic, count }, each) {
  const consumer = client().consumer({ groupId: `read-${topic}-${process.pid}`, maxWaitTimeInMs: 500 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  let seen = 0
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, event => reject(event.payload.error))
    consumer.run({
      eachBatch: async ({ batch }) => {
        for (const message of batch.messages) {
          if (seen === count) break
          try {
            each(message, seen++)
          } catch (error) {
            reject(error)
            return
          }
        }
        if (seen === count) resolve()
      }
    }).catch(reject)
  })
  await consumer.disconnect()
}

function isMessage (message, index, plain) {
  assert.equal(message.value.toString(), plain ? `${index}` : valueAt(index))
  assert.equal(message.offset, String(index))
  if (!plain) assert.equal(message.headers.n.toString(), String(index))
}

async function code (promise) {
  try {
    await promise
    return 0
  } catch (error) {
    return error.errors?.[0]?.code ?? error.code ?? error.cause?.code ?? String(error)
  }
}

async function withAdmin (work) {
  const admin = client().admin()
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}

const cases = {
  async roundtrip () {
    await loadCodecs()
    await write(options)
    await read(options, (message, index) => isMessage(message, index, false))
  },

  async write () {
    await loadCodecs()
    await write(options)
  },

  async read_plain () {
    await loadCodecs()
    await read(options, (message, index) => isMessage(message, index, true))
  },

  // Progress on standard output; the server may be killed meanwhile.
  async idempotent () {
    options.progress = true
    if (options.drops) {
      for (const ms of [700, 1500]) {
        const reset = Object.assign(new Error('dropped'), { code: 'ECONNRESET' })
        setTimeout(() => { for (const socket of sockets) socket.destroy(reset) }, ms)
      }
    }
    await write(options, { idempotent: true, maxInFlightRequests: 1 })
  },

  async create_topics () {
    return withAdmin(async admin => {
      const create = (topic, extra = {}) => admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, numPartitions: 2, replicationFactor: 1, ...extra }]
      })
      const fresh = await create(options.topic)
      const existing = await create(options.topic)
      return {
        fresh,
        existing,
        name: await code(create('a b')),
        partitions: await code(create(options.topic + '-p', { numPartitions: 0 })),
        replication: await code(create(options.topic + '-r', { replicationFactor: 3 }))
      }
    })
  },

  async create_partitions () {
    return withAdmin(async admin => {
      const grow = count => admin.createPartitions({ topicPartitions: [{ topic: options.topic, count }] })
      const codes = [await code(grow(4)), await code(grow(3))]
      const found = await admin.fetchTopicMetadata({ topics: [options.topic] })
      return { codes, partitions: found.topics[0].partitions.length }
    })
  },

  async configs () {
    return withAdmin(async admin => {
      const type = kafkajs.ConfigResourceTypes.TOPIC
      const describe = async () => {
        const got = await admin.describeConfigs({
          includeSynonyms: false, resources: [{ type, name: options.topic, configNames: ['retention.ms'] }]
        })
        const { configValue, configSource } = got.resources[0].configEntries[0]
        return [configValue, configSource]
      }
      const alter = (name, value) => admin.alterConfigs({
        validateOnly: false, resources: [{ type, name: options.topic, configEntries: [{ name, value }] }]
      })
      const before = await describe()
      await alter('retention.ms', '12345678')
      const after = await describe()
      return { before, after, unknown: await code(alter('no.such.config', '1')) }
    })
  },

  async times () {
    return withAdmin(async admin => {
      const found = await admin.fetchTopicOffsetsByTimestamp(options.topic, options.timestamp)
      return { offsets: found.map(entry => Number(entry.offset)) }
    })
  },

  async seek () {
    const consumer = client().consumer({ groupId: `seek-${options.topic}`, maxWaitTimeInMs: 300 })
    await consumer.connect()
    await consumer.subscribe({ topic: options.topic, fromBeginning: true })
    const first = await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, event => reject(event.payload.error))
      consumer.run({ eachMessage: async ({ message }) => { if (Number(message.offset) >= options.offset) resolve(message.offset) } })
      consumer.seek({ topic: options.topic, partition: 0, offset: String(options.offset) })
    })
    await consumer.disconnect()
    return { first: Number(first) }
  },

  async delete_records () {
    return withAdmin(async admin => {
      await admin.fetchTopicMetadata({ topics: [options.topic] })
      await admin.deleteTopicRecords({ topic: options.topic, partitions: [{ partition: 0, offset: String(options.offset) }] })
      const found = await admin.fetchTopicOffsets(options.topic)
      return { low: Number(found[0].low), high: Number(found[0].high) }
    })
  },

  // A member until it has to leave (SIGINT) or is killed: `partition offset value` lines on standard
  // output, `assigned N` on standard error.
  async member () {
    const consumer = client().consumer({
      groupId: options.group, sessionTimeout: 6000, heartbeatInterval: 500, maxWaitTimeInMs: 300,
      rebalanceTimeout: 10000, metadataMaxAge: 1000
    })
    consumer.on(consumer.events.GROUP_JOIN, event => {
      const assigned = Object.values(event.payload.memberAssignment).flat()
      fs.writeSync(2, `assigned ${assigned.length}\n`)
    })
    await consumer.connect()
    await consumer.subscribe({ topic: options.topic, fromBeginning: true })
    await consumer.run({
      autoCommitInterval: 100,
      eachBatch: async ({ batch, resolveOffset, heartbeat, commitOffsetsIfNecessary, isRunning, isStale }) => {
        for (const message of batch.messages) {
          if (!isRunning() || isStale()) break
          fs.writeSync(1, `${batch.partition} ${message.offset} ${message.value}\n`)
          resolveOffset(message.offset)
        }
        await commitOffsetsIfNecessary()
        await heartbeat()
      }
    })
    await new Promise(resolve => process.once('SIGINT', resolve))
    await consumer.disconnect()
  }
}

cases[name]().then(found => {
  fs.writeSync(1, JSON.stringify(found ?? {}) + '\n')
  process.exit(0)
}, error => {
  fs.writeSync(2, `${error.stack || error}\n`)
  process.exit(1)
})

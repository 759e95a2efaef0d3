// Cases with @ytsaurus/javascript-wrapper: node javascript.cjs CASE HOST:PORT
// Prints a line of JSON; exits with 1 and the reason when the case fails.

const assert = require('node:assert/strict');
const [name, address] = process.argv.slice(2);
const yt = require('@ytsaurus/javascript-wrapper')();
yt.setup.setGlobalOption('proxy', address);
yt.setup.setGlobalOption('secure', false);

const folder = `//tmp/js_${name}`;
const SCHEMA = [
  {name: 'key', type: 'int64', sort_order: 'ascending'},
  {name: 'value', type: 'string'},
];

async function settled(path, state) {
  for (let i = 0; i < 600; ++i) {
    if ((await yt.v3.get({path: `${path}/@tablet_state`})) === state) return;
    await new Promise((resume) => setTimeout(resume, 50));
  }
  throw new Error(`${path} is not ${state}`);
}

async function makeTable(path, api = yt.v3) {
  await yt.v3.create({type: 'map_node', path: folder, recursive: true, ignore_existing: true});
  await api.create({type: 'table', path, attributes: {dynamic: true, schema: SCHEMA}});
  await api.mountTable({path});
  await settled(path, 'mounted');
}

async function rejected(promise, code) {
  try {
    await promise;
  } catch (error) {
    const codes = (e) => [e.code, ...(e.inner_errors || []).flatMap(codes)];
    assert.ok(codes(error).includes(code), `code ${code} is not in ${JSON.stringify(error)}`);
    return;
  }
  assert.fail(`no error ${code}`);
}

const rows = (text) => text.split('\n').filter(Boolean).map((line) => JSON.parse(line));

const cases = {
  async rows() {
    const path = `${folder}/t`;
    await makeTable(path);
    const data = [
      {key: {$type: 'int64', $value: '1'}, value: {$type: 'string', $value: 'a'}},
      {key: {$type: 'int64', $value: '2'}, value: {$type: 'string', $value: 'b'}},
    ];
    await yt.v3.insertRows({parameters: {path}, data});
    const text = await yt.v3.selectRows({query: `* from [${path}] where key = 1`});
    assert.deepEqual(rows(text), [data[0]]);
  },
  async tree() {
    const path = `${folder}/node`;
    const id = await yt.v3.create({type: 'map_node', path, recursive: true});
    assert.match(id, /^"?[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+"?$/);
    await yt.v3.set({path: `${path}/@text`}, 'latin');
    assert.equal(await yt.v3.get({path: `${path}/@text`}), 'latin');
    assert.equal(await yt.v3.exists({path}), true);
    await yt.v3.set({path: `${path}/n`}, {a: 1});
    assert.deepEqual(await yt.v3.list({path: folder}), ['node']);
    await yt.v3.copy({source_path: path, destination_path: `${folder}/copy`});
    await yt.v3.move({source_path: `${folder}/copy`, destination_path: `${folder}/moved`});
    await yt.v3.link({target_path: path, link_path: `${folder}/link`});
    assert.deepEqual((await yt.v3.list({path: folder})).sort(), ['link', 'moved', 'node']);
    await yt.v3.remove({path: folder, recursive: true});
    assert.equal(await yt.v3.exists({path: folder}), false);
  },
  async transactions() {
    const path = `${folder}/node`;
    await yt.v3.create({type: 'map_node', path: folder, recursive: true});
    const tx = await yt.v3.startTransaction({timeout: 30000});
    await yt.v3.create({type: 'map_node', path, transaction_id: tx});
    assert.equal(await yt.v3.exists({path}), false);
    await yt.v3.pingTransaction({transaction_id: tx});
    await yt.v3.commitTransaction({transaction_id: tx});
    assert.equal(await yt.v3.exists({path}), true);
    const other = await yt.v3.startTransaction({timeout: 30000});
    await yt.v3.remove({path, transaction_id: other});
    await yt.v3.abortTransaction({transaction_id: other});
    assert.equal(await yt.v3.exists({path}), true);
    await rejected(yt.v3.commitTransaction({transaction_id: other}), 11000);
  },
  async tables() {
    const path = `${folder}/t`;
    await makeTable(path);
    await yt.v3.remountTable({path});
    await yt.v3.unmountTable({path});
    await settled(path, 'unmounted');
    await yt.v3.alterTable({path, schema: [...SCHEMA, {name: 'more', type: 'int64'}]});
    const schema = await yt.v3.get({path: `${path}/@schema`});
    assert.deepEqual(schema.$value.map((column) => column.name), ['key', 'value', 'more']);
  },
  async static() {
    const path = `${folder}/t`;
    await yt.v3.create({type: 'map_node', path: folder, recursive: true});
    await yt.v3.create({type: 'table', path, attributes: {schema: SCHEMA}});
    const data = [{key: 1, value: 'a'}, {key: 2, value: 'b'}];
    await yt.v3.writeTable({parameters: {path}, data});
    const text = await yt.v3.readTable({path});
    assert.deepEqual(rows(text), data);
  },
  async v4() {
    const path = `${folder}/t`;
    await makeTable(path, yt.v4);
    const answer = await yt.v4.get({path: `${path}/@tablet_count`});
    assert.deepEqual(answer, {value: 1});
    const results = await yt.v4.executeBatch({
      parameters: {requests: [{command: 'exists', parameters: {path}}]},
    });
    assert.deepEqual(results, {results: [{output: {value: true}}]});
  },
  async errors() {
    await rejected(yt.v3.get({path: `${folder}/none`}), 500);
    await yt.v3.create({type: 'map_node', path: folder, recursive: true});
    await rejected(yt.v3.create({type: 'map_node', path: folder}), 501);
  },
};

cases[name]().then(
  () => console.log(JSON.stringify({ok: true})),
  (error) => {
    console.error(error instanceof Error ? error.stack : JSON.stringify(error));
    process.exit(1);
  },
);

// Perfetto's trace processor, the WebAssembly build that its viewer runs, without a browser.
// usage: node trace_processor.mjs trace_processor.wasm TRACE < {"name": "SELECT ...", ...}
// Prints {"name": [{column: value, ...}, ...], ...}. Whole numbers that JavaScript cannot hold exactly are strings.
// The interface is that of protos/perfetto/trace_processor/trace_processor.proto, one RPC stream in memory.

import fs from 'node:fs';

const [wasmPath, tracePath] = process.argv.slice(2);
const RPC_BUFFER = 32 << 20;
const METHOD = {append: 1, finalize: 2, query: 3};
const FIELD = {append: 101, query: 103};

// ---- What the module wants of its surroundings: memory that grows, clocks, and nothing else

const module = new WebAssembly.Module(fs.readFileSync(wasmPath));
let memory;
const bytes = () => new Uint8Array(memory.buffer);
const view = () => new DataView(memory.buffer);
const imports = {env: {}, wasi_snapshot_preview1: {}};
for (const {module: from, name} of WebAssembly.Module.imports(module)) {
  imports[from][name] = () => (from === 'env' ? -2 : 8);
}
Object.assign(imports.env, {
  emscripten_get_now: () => performance.now(),
  emscripten_date_now: () => Date.now(),
  emscripten_get_heap_max: () => 4294901760,
  emscripten_resize_heap: (size) => {
    const missing = (size >>> 0) - memory.buffer.byteLength;
    const spare = Math.min(memory.buffer.byteLength / 5, 96 << 20);
    try {
      memory.grow(Math.ceil(Math.max(missing, spare) / 65536));
    } catch {
      return 0;
    }
    return 1;
  },
  _abort_js: () => { throw new Error('the trace processor aborted'); },
  __assert_fail: () => { throw new Error('an assertion of the trace processor failed'); },
  _tzset_js: () => {},
  __syscall_getcwd: (at) => { bytes().set([47, 0], at); return 2; },
});
Object.assign(imports.wasi_snapshot_preview1, {
  clock_time_get: (id, precision, at) => { view().setBigUint64(at, process.hrtime.bigint(), true); return 0; },
  environ_sizes_get: (count, size) => { view().setUint32(count, 0, true); view().setUint32(size, 0, true); return 0; },
  environ_get: () => 0,
  fd_write: (fd, vectors, count, written) => {
    let total = 0;
    for (let i = 0; i < count; i++) total += view().getUint32(vectors + 8 * i + 4, true);
    view().setUint32(written, total, true);
    return 0;
  },
});
const {exports} = new WebAssembly.Instance(module, imports);
memory = exports.memory;
exports.emscripten_stack_init?.();
exports.__wasm_call_ctors();
try { exports.__main_argc_argv(0, 0); } catch { /* ends by an exception, as a page does */ }

// ---- Protobuf

function varint(number) {
  const out = [];
  let rest = BigInt(number);
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  return Buffer.from([...out, Number(rest)]);
}

const field = (number, content) => Buffer.concat([varint(number << 3 | 2), varint(content.length), content]);

function readVarint(buffer, at) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = buffer[at++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
}

/** The fields of a message in their order: [number, value]; a value is a bigint or bytes. */
function* fields(buffer) {
  for (let at = 0; at < buffer.length;) {
    let tag, value;
    [tag, at] = readVarint(buffer, at);
    const wire = Number(tag & 7n);
    if (wire === 0) {
      [value, at] = readVarint(buffer, at);
    } else if (wire === 2) {
      let length;
      [length, at] = readVarint(buffer, at);
      value = buffer.subarray(at, at + Number(length));
      at += Number(length);
    } else {
      const size = wire === 1 ? 8 : 4;
      value = buffer.subarray(at, at + size);
      at += size;
    }
    yield [Number(tag >> 3n), value];
  }
}

// ---- Calls

let replies = [];
const onReply = (at, size) => replies.push(Buffer.from(bytes().slice(at, at + size)));
// A module of one import and one export makes a function of ours one that the table of functions takes.
const wrapper = new WebAssembly.Module(new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 6, 1, 0x60, 2, 0x7f, 0x7f, 0, 2, 7, 1, 1, 0x65, 1, 0x66, 0, 0, 7, 5, 1, 1, 0x66, 0, 0]));
const table = exports.__indirect_function_table;
const slot = table.grow(1);
table.set(slot, new WebAssembly.Instance(wrapper, {e: {f: onReply}}).exports.f);
const requests = exports.trace_processor_rpc_init(slot, RPC_BUFFER) >>> 0;

let sequence = 0;
function call(method, argument) {
  const parts = [varint(1 << 3), varint(++sequence), varint(2 << 3), varint(METHOD[method])];
  if (argument) parts.push(field(FIELD[method], argument));
  const message = field(1, Buffer.concat(parts));
  bytes().set(message, requests);
  replies = [];
  exports.trace_processor_on_rpc_request(message.length);
  return [...fields(Buffer.concat(replies))].filter(([number]) => number === 1).map(([, rpc]) => [...fields(rpc)]);
}

const CELL = {null: 1, varint: 2, float64: 3, string: 4, blob: 5};

/** The cells of one batch: their types in order, and the values of each type in a list of its own. */
function cellsOf(batch) {
  const types = [], ints = [], reals = [];
  let texts = [];
  for (const [number, value] of fields(batch)) {
    if (number === 1) for (let at = 0; at < value.length;) { let type; [type, at] = readVarint(value, at); types.push(Number(type)); }
    if (number === 2) for (let at = 0; at < value.length;) { let int; [int, at] = readVarint(value, at); ints.push(BigInt.asIntN(64, int)); }
    if (number === 3) for (let at = 0; at < value.length; at += 8) reals.push(value.readDoubleLE(at));
    if (number === 5) texts = value.toString('utf8').split('\0');
  }
  let int = 0, real = 0, text = 0;
  const next = {[CELL.null]: () => null, [CELL.varint]: () => whole(ints[int++]), [CELL.float64]: () => reals[real++],
                [CELL.string]: () => texts[text++]};
  return types.map((type) => next[type]());
}

const whole = (int) => (Number.isSafeInteger(Number(int)) ? Number(int) : String(int));

function query(sql) {
  const columns = [], cells = [];
  for (const rpc of call('query', field(1, Buffer.from(sql)))) {
    for (const [number, result] of rpc) {
      if (number !== FIELD.query + 100) continue;
      for (const [part, value] of fields(result)) {
        if (part === 1) columns.push(value.toString());
        if (part === 2 && value.length) throw new Error(`${sql}: ${value}`);
        if (part === 3) cells.push(...cellsOf(value));
      }
    }
  }
  const rows = [];
  for (let at = 0; at < cells.length; at += columns.length) {
    rows.push(Object.fromEntries(columns.map((name, i) => [name, cells[at + i]])));
  }
  return rows;
}

const trace = fs.openSync(tracePath);
const piece = Buffer.alloc(RPC_BUFFER - 65536);
for (let size; (size = fs.readSync(trace, piece, 0, piece.length)) > 0;) call('append', piece.subarray(0, size));
call('finalize');
const questions = JSON.parse(fs.readFileSync(0, 'utf8'));
const answers = Object.fromEntries(Object.entries(questions).map(([name, sql]) => [name, query(sql)]));
process.stdout.write(JSON.stringify(answers));

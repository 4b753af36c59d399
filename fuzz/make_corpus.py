#!/usr/bin/env python3
"""Writes fuzz/corpus: small seeds for fuzz/adapters_fuzz.cpp, two option bytes and then a file.

usage: fuzz/make_corpus.py     (needs the zstd command for the zstd seeds; they are left alone without it)
"""
import gzip
import pathlib
import shutil
import subprocess

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"

# Byte 0 of the options; see Options in adapters_fuzz.cpp.
WINDOW = [0, 1, 2, 3]
TWO_THREADS = 4
FORCED = 8


def spread(step):
    """Blanks behind each line break: step * 10 KB."""
    return step << 4


def options(byte, adapter=0):
    return bytes([byte, adapter])


def trace(*events, before='"schemaVersion":1', after='"traceName":"t.json"'):
    return "{%s,\n\"traceEvents\":[\n%s\n],%s}" % (before, ",\n".join(events), after)


OP = ('{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":10,"tid":11,"ts":100.001,"dur":50.5,"args":{"External id":7,'
      '"Sequence number":3,"Fwd thread id":0,"Record function id":9,"Ev Idx":1,"Input Dims":[[2,3],[3,4]],'
      '"Input type":["float","float"],"Input Strides":[[3,1],[4,1]],"Concrete Inputs":["","1"]}}')
LAUNCH = ('{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":11,"ts":110,"dur":5,'
          '"args":{"cbid":211,"correlation":5,"External id":7}}')
FLOW_START = '{"ph":"s","id":5,"pid":10,"tid":11,"ts":110,"cat":"ac2g","name":"ac2g"}'
KERNEL = ('{"ph":"X","cat":"kernel","name":"gemm<float>","pid":0,"tid":7,"ts":120.5,"dur":30.25,"args":{"device":0,'
          '"context":1,"stream":7,"correlation":5,"External id":7,"queued":0,"registers per thread":32,"shared memory":0,'
          '"blocks per SM":0.5,"warps per SM":4.0,"grid":[1,2,3],"block":[128,1,1],"est. achieved occupancy %":25,'
          '"graph id":1,"graph node id":2}}')
FLOW_END = '{"ph":"f","id":5,"pid":0,"tid":7,"ts":120.5,"cat":"ac2g","name":"ac2g","bp":"e"}'
COPY = ('{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":160,"dur":2,"args":{"device":0,"stream":7,'
        '"correlation":6,"external id":7,"context":1,"bytes":4096,"memory bandwidth (GB/s)":2.048}}')
SET = '{"ph":"X","cat":"gpu_memset","name":"Memset","pid":0,"tid":7,"ts":0,"dur":0,"args":{"bytes":16}}'
SYNC = ('{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":7,"ts":170,"dur":1,"args":{"stream":-1,'
        '"correlation":8,"cuda_sync_kind":"Stream Wait Event","wait_on_stream":20,'
        '"wait_on_cuda_event_record_corr_id":4,"wait_on_cuda_event_id":2,"device":0,"context":1}}')
MEMORY = ('{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":10,"tid":11,"ts":105,"args":{"Total Reserved":0,'
          '"Total Allocated":64,"Bytes":64,"Addr":140000000000000,"Device Id":-1,"Device Type":0,"Ev Idx":2}}')
STEP = '{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":10,"tid":11,"ts":90,"dur":200}'
PYTHON = ('{"ph":"X","cat":"python_function","name":"f.py(1): g","pid":10,"tid":11,"ts":95,"dur":100,'
          '"args":{"Python id":1,"Python parent id":null,"Python module id":0}}')
NAMES = ['{"ph":"M","name":"process_name","pid":10,"tid":0,"ts":0,"args":{"name":"python"}}',
         '{"ph":"M","name":"process_labels","pid":0,"tid":0,"ts":0,"args":{"labels":"GPU 0"}}',
         '{"ph":"M","name":"process_sort_index","pid":0,"tid":0,"ts":0,"args":{"sort_index":5000000}}',
         '{"ph":"M","name":"thread_name","pid":0,"tid":"stream 7","ts":0,"args":{"name":"stream 7"}}',
         '{"ph":"M","name":"thread_sort_index","pid":10,"tid":11,"ts":0,"args":{"sort_index":"x"}}']

NVIDIA = ('"schemaVersion":1,"deviceProperties":[{"id":0,"name":"GPU","totalGlobalMem":85899345920,"computeMajor":9,'
          '"computeMinor":0,"numSms":132,"regsPerMultiprocessor":65536}],"cuda_runtime_version":12040,'
          '"cuda_driver_version":12040,"cupti_version":22,"record_shapes":1,"with_stack":0,"host_name":"h",'
          '"distributedInfo":{"backend":"nccl","rank":1,"world_size":8,"nccl_version":"2.20.5"},'
          '"displayTimeUnit":"ms","baseTimeNanoseconds":1700000000000000000')
AMD = ('"schemaVersion":1,"deviceProperties":[{"id":0,"name":"AMD Instinct","maxSharedMemoryPerMultiProcessor":65536}],'
       '"hip_runtime_version":60200000,"roctracer_version":4')
MTIA = '"schemaVersion":1,"deviceProperties":[{"id":0,"name":"M","maxGridHeight":8}],"trace_id":"AA"'


def renamed(event, *pairs):
    for old, new in pairs:
        event = event.replace(old, new)
    return event


def texts():
    """Name, option byte, text of the file."""
    yield "nvidia_ops", WINDOW[0], trace(*NAMES[:2], STEP, OP, LAUNCH, FLOW_START, before=NVIDIA)
    yield "nvidia_device", WINDOW[1] | TWO_THREADS | spread(3), trace(KERNEL, FLOW_END, COPY, SYNC, MEMORY, before=NVIDIA)
    yield "flows_at_borders", WINDOW[0] | TWO_THREADS | spread(5), trace(LAUNCH, FLOW_START, KERNEL, FLOW_END, FLOW_START, LAUNCH)
    yield "amd", WINDOW[2] | FORCED, trace(renamed(KERNEL, ('"pid":0', '"pid":4')), SET, before=AMD)
    yield "mtia", WINDOW[0] | TWO_THREADS, trace(
        renamed(SYNC, ("cuda_sync", "mtia_ccp_events")), renamed(LAUNCH, ("cuda_runtime", "mtia_runtime")), before=MTIA)
    yield "year_2021", WINDOW[0] | FORCED, trace(
        renamed(OP, ("cpu_op", "Operator"), ("100.001", "1623143089861000"), ('"pid":10', '"pid":"10"')),
        renamed(KERNEL, ('"cat":"kernel"', '"cat":"Kernel"'), ('"tid":7', '"tid":"stream 7"')),
        '{"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":1,"dur":2}',
        before='"schemaVersion":1,"x":[]')
    yield "python", WINDOW[0] | spread(6), trace(PYTHON, STEP, MEMORY, *NAMES, after='"baseTimeNanoseconds":1')
    yield "phases", WINDOW[0] | FORCED | spread(2), trace(*(
        '{"ph":"%s","name":"n","cat":"c","pid":1,"tid":2,"ts":%d,"id":%d}' % (phase, i, i)
        for i, phase in enumerate("XBEbneisStfTMCNODPpvVRcI(,)0")))
    yield "wrong_types", WINDOW[0] | FORCED | spread(4), trace(
        '{"ph":5,"ts":1}', '{"ph":"X","ts":{},"name":[1]}', '{"ph":"X","ts":1,"name":true,"cat":null,"pid":[],"tid":1.5}',
        '{"ph":"X","ts":"1","dur":"-3","args":[1]}', '{"ph":"X","ts":1e3,"dur":1e30,"args":5}', '17', 'null', '"x"', '[[]]',
        '{"ph":"X","cat":"kernel","ts":1,"args":{"grid":[1,2],"block":"x","device":99999999999,"stream":1.5,"queued":null}}',
        '{"ph":"s","ts":1,"id":{},"pid":"a","tid":null}', "{}", '{"ph":"X"}', '{"ph":"XX","ts":1}')
    yield "escapes", WINDOW[0] | FORCED, trace(
        r'{"ph":"X","ts":1,"name":"\u00e9\ud83d\ude00\ud800 \"\\\/\b\f\n\r\t","cat":"é€😀","args":{"k\n\"":"v\\","\u0041":"\udc00"}}',
        r'{"p\u0068":"X","ts":2,"ph":"X","name":"","args":{"":""}}')
    yield "nested", WINDOW[0] | FORCED, trace(
        '{"ph":"X","ts":1,"args":{"a":{"b":[{"c":[[],{},[1,-0.5e-3,true,null]]}]},"deep":%s1%s}}' % ("[" * 100, "]" * 100))
    yield "numbers", WINDOW[0] | FORCED | spread(7), trace(
        '{"ph":"X","ts":9223372036854775.807,"dur":0.001}', '{"ph":"X","ts":-9223372036854775.808,"dur":1}',
        '{"ph":"X","ts":1.0005,"dur":0.0001}', '{"ph":"X","ts":0,"dur":9223372036854775807}',
        '{"ph":"X","ts":1,"cat":"kernel","args":{"blocks per SM":inf,"warps per SM":nan,"x":-inf,"y":1e999}}',
        '{"ph":"X","ts":1,"pid":-9223372036854775808,"tid":18446744073709551615}')
    yield "repeated_keys", WINDOW[0] | FORCED, trace(
        '{"ph":"X","ph":"M","ts":1,"ts":2,"args":{"a":1,"a":2},"args":{"correlation":1,"correlation":2},"args":7}',
        after='"traceEvents":null')
    yield "odd_envelope", WINDOW[0] | FORCED, trace(
        OP, before='"traceEvents ":[],"a":{"traceEvents":[1]},"b":"traceEvents\\"","c":[[{"d":"]"}]]',
        after='"deviceProperties":[1,{"id":-1,"totalGlobalMem":18446744073709551615}],"distributedInfo":{"rank":1e3},'
              '"baseTimeNanoseconds":18446744073709551615,"cuda_runtime_version":"x"')
    yield "trailing_comma", WINDOW[1] | FORCED | spread(7), '{"traceEvents":[{"ph":"X","ts":1},\n\n]}'
    yield "control_character", WINDOW[0] | FORCED, trace('{"ph":"X","ts":1,"args":{"a":[1\x01]}}')
    yield "no_events", WINDOW[0] | FORCED, trace()
    yield "truncated", WINDOW[0] | FORCED | spread(5), trace(OP, LAUNCH, KERNEL)[:-300]


def run_file(*members):
    return "{\"schema\":\"neurolens.run-file/1\",\n%s}" % ",\n".join(members)


def array(name, *rows):
    return '"%s":[\n%s\n]' % (name, ",\n".join(rows))


TRACKS = array("tracks", '{"kind":"thread","process_id":1,"clock_id":0}', '{"kind":"stream","device":0,"args":"{\\n}"}')
SPANS = array("spans", '{"track_id":0,"name":"mm","kind":"op","start_ns":10,"dur_ns":5,"shapes":[[2,3]],"dtypes":"[\\"x\\"]"}',
              '{"kind":"runtime","start_ns":-1e3}')
KERNELS = array("kernels", '{"track_id":1,"name":"k","dur_ns":7,"occupancy_pct":12.5,"grid_x":1,"args":{"a":[1,null]},'
                '"metrics":{"dram__bytes.sum":1.5e9,"b":{"value":-0.0,"unit":"B"}}}', "{}")
METADATA = ('"metadata":{"labels":{"model":"m","batch":8},"tool":"t","hardware":{"devices":[{"device":0,"vendor":"AMD"}],'
            '"ranks":[{"rank":0}]},"software":{"backend":"pytorch","versions":{"a":"1"}},"clocks":[{"kind":"unix",'
            '"base_unix_ns":1700000000000000000}],"windows":{"kept":[{"kind":"step","name":"1","start_ns":0,"dur_ns":1}]},'
            '"extensions":{"x":{"y":[1.0]}},"origin":{"run_id":"z"}}')


def run_files():
    """Name, option byte, text of the file."""
    yield "run_file", WINDOW[0], run_file(METADATA, TRACKS, SPANS, KERNELS, '"summary":{"tracks":{"rows":2},"spans":{"rows":2,'
                                          '"total_ns":5},"kernels":{"rows":2,"total_ns":7}}')
    yield "run_file_ops", WINDOW[0] | TWO_THREADS | spread(6), run_file(
        array("ops", '{"start_ns":1}', '{"start_ns":2,"n\\u0061me":"\\ud83d\\ude00\\ud800"}', '{"start_ns":3,"args":"5"}'),
        array("kernels", '{"device":1,"stream":7}', '{"device":1,"stream":8}', '{"device":-1}'),
        array("copies", '{"bytes":1}', '{"bytes":9223372036854775807}'))
    yield "run_file_all_tables", WINDOW[1] | spread(3), run_file(*(array(name, "{}", '{"args":{}}') for name in (
        "kernels copies syncs allocations flows counters kernel_metrics collectives requests samples layers layer_times"
    ).split()))
    yield "run_file_faults", WINDOW[0] | spread(4), run_file(
        array("ops", "1", "{}", '{"start_ns":1.5}', '{"start_ns":1,"start_ns":2,"x":[{}]}', '{"dur_ns":-1}'),
        array("tracks", "[]"), '"metadata":{"clocks":[{"kind":"x","clock_id":7}],"labels":{"A":null}}', '"ops":[1]', '"summary":{}')


def zstd(text):
    return subprocess.run(["zstd", "-q", "-9", "--check", "-c"], input=text, stdout=subprocess.PIPE, check=True).stdout


def compressed():
    """Name, option byte, bytes of the file."""
    text = trace(STEP, OP, LAUNCH, FLOW_START, KERNEL, FLOW_END, before=NVIDIA).encode()
    half = len(text) // 2
    pack = lambda part: gzip.compress(part, mtime=0)
    yield "gzip", WINDOW[0], pack(text)
    yield "gzip_members", WINDOW[1] | TWO_THREADS, pack(text[:half]) + pack(b"") + pack(text[half:]) + b"\0\0"
    yield "gzip_large", WINDOW[0] | TWO_THREADS, pack(trace(*[OP, LAUNCH, FLOW_START] * 200).encode())
    yield "gzip_truncated", WINDOW[0], pack(text)[:-200]
    if shutil.which("zstd"):
        yield "zstd", WINDOW[0], zstd(text)
        yield "zstd_frames", WINDOW[2] | TWO_THREADS, zstd(text[:half]) + zstd(text[half:])


def main():
    CORPUS.mkdir(exist_ok=True)
    written = [*texts(), *run_files()]
    seeds = [(name, byte, text.encode()) for name, byte, text in written] + list(compressed())
    for name, byte, data in seeds:
        (CORPUS / name).write_bytes(options(byte) + data)
    largest = max((CORPUS / name).stat().st_size for name, _, _ in seeds)
    print(f"corpus: {len(seeds)} seeds, the largest of {largest} bytes")


if __name__ == "__main__":
    main()

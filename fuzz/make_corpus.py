#!/usr/bin/env python3
"""Writes fuzz/corpus: small seeds for fuzz/adapters_fuzz.cpp, two option bytes and then a file.

usage: fuzz/make_corpus.py     (needs the zstd command for the zstd seeds; they are left alone without it)
"""
import gzip
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import tempfile

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "tests/golden"

# Byte 0 of the options; see Options in adapters_fuzz.cpp.
WINDOW = [0, 1, 2, 3]
TWO_THREADS = 4
FORCED = 8
# Byte 1: the forced adapter, in the order of their names, and the forced role.
ADAPTERS = sorted(path.stem.replace("_", "-") for path in (GOLDEN.parents[1] / "src/ingest/adapters").glob("*.cpp"))
CAPTURE, CHROME, KINETO, NCU, NEUROLENS_JSON, NSYS, NSYS_STATS, ONNXRUNTIME, RECORDING, ROCPROFV3, TELEMETRY, TRTEXEC = map(
    ADAPTERS.index, ["capture", "chrome", "kineto", "ncu", "neurolens-json", "nsys", "nsys-stats", "onnxruntime", "recording",
                     "rocprofv3", "telemetry", "trtexec"])
DEVICE, LAYERS, PROFILE, SUMMARY, TIMES = (role << 4 for role in range(1, 6))


def spread(step):
    """Blanks behind each line break: step * 10 KB."""
    return step << 4


def options(byte, adapter=KINETO):
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


def list_of(*elements):
    return "[\n%s\n]" % ",\n".join(elements)


SESSION = '{"cat":"Session","pid":7,"tid":7,"dur":100,"ts":5,"ph":"X","name":"model_loading_uri","args":{}}'
NODE = ('{"cat":"Node","pid":7,"tid":7,"dur":40,"ts":610,"ph":"X","name":"conv_kernel_time","args":{"op_name":"Conv",'
        '"provider":"CPUExecutionProvider","node_index":"3","input_type_shape":[{"float":[1,8]},{"int64":[]}],'
        '"output_size":"32","thread_scheduling_stats":""}}')
FENCE = '{"cat":"Node","pid":7,"tid":7,"dur":0,"ts":609,"ph":"X","name":"conv_fence_before","args":{"op_name":"Conv"}}'
NODE_KERNEL = ('{"cat":"Kernel","pid":-1,"tid":-1,"dur":2,"ts":612,"ph":"X","name":"gemm","args":{"stream":"7","grid_x":"128",'
               '"grid_y":"1","grid_z":"1","block_x":"256","block_y":"1","block_z":"1"}}')
MODEL_RUN = '{"cat":"Session","pid":7,"tid":7,"dur":60,"ts":600,"ph":"X","name":"model_run","args":{}}'

COUNT = '{"count":11}'
LAYER_TIME = '{"name":"Conv_0 + Relu_1","timeMs":1245.08,"averageMs":113.189,"medianMs":113.15,"percentage":59.5}'
INFERENCE = ('{"startEnqMs":2.67,"endEnqMs":2.70722,"startH2dMs":2.5,"endH2dMs":2.6,"startComputeMs":2.57741,'
             '"endComputeMs":3.45088,"startD2hMs":3.45088,"endD2hMs":3.46,"h2dMs":0.1,"computeMs":0.873472,"d2hMs":0.01,'
             '"latencyMs":0.983472}')
LAYER = ('{"Name":"Conv_0","LayerType":"CaskConvolution","TacticName":"sm80_xmma","Inputs":[{"Name":"x","Location":"Device",'
         '"Dimensions":[32,3,224,224],"Format/Datatype":"FP16"}],"Outputs":[{"Name":"y","Dimensions":[1]},"odd"],'
         '"ParameterType":"Convolution","Kernel":[7,7]}')
DEVICES = ('[{"Name":"NVIDIA A100","ComputeCapability":[8,0],"TotalMemory":84929216512,"CUDA_VERSION":[11,6,0],'
           '"MULTIPROCESSOR_COUNT":108},3]')
SUMMARY_TEXT = ('{"performance_summary":{"Throughput":1155.36,"Latency":[0.85,0.87]},"inference_options":{"Batch":"Explicit"},'
                '"device_information":{"Selected Device":"NVIDIA A100","SMs":108.0},"other":1}')


def phase(letter, ts, rest=""):
    return '{"ph":"%s","pid":1,"tid":2,"ts":%s,"name":"n%s","cat":"c"%s}' % (letter, ts, letter, rest)


def other_adapters():
    """Name, option bytes, text of the file."""
    yield "ort_nodes", (WINDOW[0], 0), list_of(SESSION, FENCE, NODE, MODEL_RUN)
    yield "ort_kernels", (WINDOW[0] | TWO_THREADS | spread(5), 0), list_of(NODE_KERNEL, SESSION, NODE, NODE_KERNEL, NODE, MODEL_RUN)
    yield "ort_forced", (WINDOW[1] | FORCED | spread(3), ONNXRUNTIME), list_of(
        NODE, renamed(NODE, ("conv_kernel_time", "_kernel_time"), ("[1,8]", "[-1,x]")),
        renamed(NODE, ('[{"float":[1,8]},{"int64":[]}]', '[{"float":[1],"a":[2]},{}]')), renamed(NODE_KERNEL, ('"7"', '[7]')))
    yield "trt_profile", (WINDOW[0], 0), list_of(COUNT, LAYER_TIME, LAYER_TIME)
    yield "trt_profile_odd", (WINDOW[0] | FORCED | spread(6), TRTEXEC | PROFILE), list_of(
        LAYER_TIME, '{"count":-3}', '{"count":2,"name":"a","timeMs":-1,"averageMs":null}', "7", COUNT, COUNT,
        '{"name":"b","timeMs":0.0000015,"averageMs":1E+400,"medianMs":1e-400,"percentage":"x"}', '{"name":5}')
    yield "trt_times", (WINDOW[0] | TWO_THREADS | spread(4), 0), list_of(
        INFERENCE, INFERENCE, renamed(INFERENCE, ("2.70722", "1")), '{"latencyMs":1}')
    yield "trt_times_odd", (WINDOW[0] | FORCED, TRTEXEC | TIMES), list_of(
        renamed(INFERENCE, ("2.5,", "9e11,"), ("0.01", '"x"')), "[]", "{}")
    yield "trt_layers", (WINDOW[0], 0), '{"Layers":[%s,\n"a \\"quoted\\" one",3],\n"Bindings":["input"]}' % LAYER
    yield "trt_layers_odd", (WINDOW[0] | FORCED | spread(7), TRTEXEC | LAYERS), (
        '{"Bindings":{},"Layers":[\n%s,\n{"Name":1},{"Name":"x","Inputs":5,"Outputs":[[]],"LayerType":{}}]}' % LAYER)
    yield "trt_layers_empty_name", (WINDOW[0], 0), '{"Layers":[""],"Bindings":[]}'
    yield "trt_device", (WINDOW[0], 0), DEVICES
    yield "trt_device_odd", (WINDOW[0] | FORCED, TRTEXEC | DEVICE), renamed(
        DEVICES, ("84929216512", "18446744073709551615"), ("108", "-1.5e300"), ("[8,0]", '{"a":8}'), ("[11,6,0]", "7"))
    yield "trt_summary", (WINDOW[0], 0), SUMMARY_TEXT
    yield "trt_summary_odd", (WINDOW[0] | FORCED, TRTEXEC | SUMMARY), renamed(SUMMARY_TEXT, ("108.0", "1e999"))
    yield "chrome_pairs", (WINDOW[0] | TWO_THREADS | spread(5), 0), trace(
        phase("B", 1, ',"args":{"a":1}'), phase("B", 2), phase("E", 3, ',"args":{"b":2}'), phase("E", 4), phase("E", 5),
        phase("B", 7), phase("E", 6), phase("B", 8), before='"otherData":{}')
    yield "chrome_async", (WINDOW[0] | FORCED | spread(4), CHROME), list_of(
        phase("b", 1, ',"id":"0x1"'), phase("b", 2, ',"id":2,"scope":"s"'), phase("n", 3, ',"id":"0x1"'),
        phase("e", 4, ',"id":"0x1"'), phase("b", 5, ',"id2":{"local":"0x3"}'), phase("e", 6, ',"id2":{"local":"0x3"}'),
        phase("S", 7, ',"id":9'), phase("T", 8, ',"id":9'), phase("F", 9, ',"id":9'), phase("e", 10))
    yield "chrome_counters", (WINDOW[0] | FORCED | spread(2), CHROME), list_of(
        phase("C", 1, ',"args":{"used":10,"free":2.5,"unit":"MB"}'), phase("C", '"2.5"', ',"id":"a","args":{"\\u00e9":1e3}'),
        phase("C", 3, ',"args":{"x":null}'), phase("C", 4), phase("i", 5), phase("R", 6), phase("P", 7, ',"sf":1'))


def tables():
    """Tables of lines: option bytes without spread, since blanks would change the rows. Golden cases, sniffed."""
    for adapter, number in (("ncu", NCU), ("nsys-stats", NSYS_STATS), ("rocprofv3", ROCPROFV3), ("telemetry", TELEMETRY)):
        for folder in sorted((GOLDEN / adapter).iterdir()):
            for path in sorted(folder.glob("input*")):
                yield f"table_{adapter}_{folder.name}", (WINDOW[0] | FORCED, number), path.read_bytes()
    wide = '"ID","Kernel Name","Process ID",' + ",".join(f'"m__{n}.sum"' for n in range(40))
    yield "table_ncu_wide", (WINDOW[0], 0), (wide + "\n" + '"","",""' + ',"Kbyte/second"' * 40 + "\n" + "".join(
        f'"{n}","k\n""{n}""","1"' + ',"1,234.5"' * 38 + ',"nan",""\n' for n in range(3))).encode()


def golden():
    """The cases of the golden tests, as they are and forced upon their adapter."""
    for adapter, number in (
            ("chrome", CHROME), ("ncu", NCU), ("neurolens-capture", CAPTURE), ("neurolens-json", NEUROLENS_JSON), ("nsys-stats", NSYS_STATS),
            ("onnxruntime", ONNXRUNTIME), ("telemetry", TELEMETRY), ("trtexec", TRTEXEC)):
        for folder in sorted((GOLDEN / adapter).iterdir()):
            for path in sorted(folder.glob("input*")):
                yield f"golden_{adapter}_{folder.name}", (WINDOW[0] | FORCED | spread(6), number), path.read_bytes()


def databases():
    """The cases of the golden tests of nsys as databases with small pages, so that there are many of them."""
    for folder in sorted((GOLDEN / "nsys").iterdir()):
        with tempfile.TemporaryDirectory() as temp:
            path = pathlib.Path(temp) / "nsys.sqlite"
            database = sqlite3.connect(path, isolation_level=None)
            database.execute("PRAGMA page_size=512")
            database.executescript((folder / "input.sql").read_text())
            database.close()
            yield f"golden_nsys_{folder.name}", (WINDOW[0] | FORCED, NSYS), path.read_bytes()


def chunk(kind, payload=b"", records=0, process=0, thread=1):
    """See wire/recording.h; the fuzzer's build asks for no checksums."""
    payload += bytes(-len(payload) % 8)
    return struct.pack("<4sIIIIIQQQ32sQQ", b"NLCK", kind, len(payload), records, process, 0, 0, thread, 4711, b"main", 0,
                       0) + payload


def marker(kind, name, time, *more):
    return struct.pack(f"<QQ{len(more)}Q", kind | 2 + len(more) << 16 | name << 32, time, *more)


def recordings():
    """Name, option bytes, bytes of the file. A line break anywhere would be spread, so there is no spread."""
    head = b"NLRECORD" + struct.pack("<II", 1, 16)
    process = chunk(1, struct.pack("<QqqqII", 4711, 10**6, 10**18, 40, 2, 1) + b"pyk")
    names = chunk(2, struct.pack("<IHH", 1, 0, 8) + b"prefills" + struct.pack("<IHH", 2, 3, 5) + b"llmtoken")
    pairs = marker(1, 1, 100) + marker(1, 2, 110) + marker(2, 2, 120) + marker(2, 1, 130)
    others = (marker(3, 1, 140, 7) + marker(4, 1, 150, 7) + marker(5, 2, 160, 7, int.from_bytes(b'{"a":1}', "little"))
              + marker(6, 1, 170, 0x3FE0000000000000))
    losses = chunk(4, struct.pack("<11Q", *range(11)))
    end = chunk(5, struct.pack("<Q", 8))
    yield "recording", head + process + names + chunk(3, pairs, 4) + chunk(3, others, 4, thread=2) + losses + end
    yield "recording_open", head + process + names + chunk(3, pairs[:32], 2) + chunk(3, pairs, 4, process=5)
    yield "recording_damaged", head + process + names + b"x" * 40 + chunk(3, pairs + others, 8)[:-8] + losses


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
    seeds = [(name, options(byte), text.encode()) for name, byte, text in [*texts(), *run_files()]]
    seeds += [(name, options(byte), data) for name, byte, data in compressed()]
    seeds += [(name, options(*both), text.encode()) for name, both, text in other_adapters()]
    seeds += [(name, options(*both), data) for name, both, data in [*golden(), *databases(), *tables()]]
    seeds += [(name, options(WINDOW[0] | FORCED, RECORDING), data) for name, data in recordings()]
    for name, both, data in seeds:
        (CORPUS / name).write_bytes(both + data)
    largest = max((CORPUS / name).stat().st_size for name, _, _ in seeds)
    print(f"corpus: {len(seeds)} seeds, the largest of {largest} bytes")


if __name__ == "__main__":
    main()

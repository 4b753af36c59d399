"""`neurolens queue`: jobs that survive what happens to a machine. The long trial is tests/full/queue."""

import base64
import json
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import BAD_INPUT, BINARY, GATE_FAILED, MISSING, OK, REPOSITORY, Neurolens, Result

PATIENCE = 60


class Queue(Neurolens):
    """The binary with a queue of its own."""

    def __init__(self, folder, environment=None):
        self.folder = pathlib.Path(folder)
        self.state = self.folder / "state"
        super().__init__(
            self.folder / "ledger",
            {"NEUROLENS_STATE": str(self.state), "NEUROLENS_LOCKS": str(self.folder / "locks"), **(environment or {})},
        )

    def add(self, *words, shell=None):
        """Id of a job; words behind -- are its command."""
        given_shell = ("--shell", shell) if shell is not None else ()
        return self("queue", "add", *given_shell, "--json", *words).data["added"][0]

    def job(self, one):
        (job,) = self("queue", "list", str(one), "--json").data["jobs"]
        return job

    def jobs(self):
        return self("queue", "list", "--json").data["jobs"]

    def ends(self, one):
        return [attempt["end"] for attempt in self.job(one)["attempts"]]

    def run(self, *options, code=OK):
        return self("queue", "run", "--until-empty", *options, code=code)

    def output(self, one):
        return pathlib.Path(self.job(one)["attempts"][-1]["stdout_log"]).read_bytes()

    def wait_for(self, one, state="running", pid=True):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            job = self.job(one)
            if job["state"] == state and (state != "running" or not pid or "pid" in job["attempts"][-1]):
                return job
            time.sleep(0.05)
        raise AssertionError(f"job {one} did not become {state}: {self.job(one)}")

    def marked(self):
        """Processes of any job of this queue: their folder of locks is in their environment, or what they work in."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
                if b"NEUROLENS_QUEUE=" in environment and os.readlink(folder / "cwd").startswith(str(self.folder)):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.fixture
def queue(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    queue = Queue(tmp_path)
    yield queue
    for pid in queue.marked():
        os.kill(pid, signal.SIGKILL)


# ---- What a person does


def test_jobs_run_in_turn_and_say_how_they_ended(queue):
    first = queue.add("--", "sh", "-c", "echo one; echo two >&2")
    second = queue.add("--name", "bad", "--", "sh", "-c", "exit 7")
    done = queue.run(code=GATE_FAILED)
    assert queue.output(first) == b"one\n"
    log = queue.job(first)["attempts"][0]["stdout_log"]
    assert f"job {first} attempt 1  exit 0" in done.err and log in done.err
    assert queue.job(second)["state"] == "failed" and queue.job(second)["attempts"][0]["exit_code"] == 7
    assert queue("queue", "log", str(first)).out.startswith("one\n")
    assert "two" in queue("queue", "log", str(first)).out
    assert "bad" in queue("queue").out
    assert not (queue.ledger).exists()


def test_the_file_and_its_logs_are_the_users_alone(queue):
    queue.add("--", "true")
    queue.run()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [queue.state, *queue.state.iterdir()]}
    assert modes["state"] == modes["queue-logs"] == 0o700 and modes["queue.sqlite"] == 0o600
    assert stat.S_IMODE((queue.state / "queue-logs/1/1.out").stat().st_mode) == 0o600


def test_a_folder_that_others_may_write_is_refused(queue):
    queue.state.mkdir()
    queue.state.chmod(0o777)
    refused = queue("queue", "add", "--", "true", code=MISSING)
    assert "can be written by others" in refused.err and "NEUROLENS_STATE" in refused.err


def test_dependencies_priorities_and_requeue(queue):
    (queue.folder / "jobs.yaml").write_text(
        """
- shell: echo late >> order
- command: [sh, -c, "echo first >> order; exit $(cat code)"]
  name: base
  priority: 5
- shell: echo second >> order
  needs: [base]
  priority: 9
"""
    )
    (queue.folder / "code").write_text("3")
    assert queue("queue", "add-file", "jobs.yaml", "--json").data["added"] == [1, 2, 3]
    queue.run(code=GATE_FAILED)
    assert (queue.folder / "order").read_text().split() == ["first", "late"]
    assert queue.job(3)["state"] == "blocked" and "job 2" in queue.job(3)["why"]
    (queue.folder / "code").write_text("0")
    queue("queue", "requeue", "base")
    queue.run()
    assert (queue.folder / "order").read_text().split() == ["first", "late", "first", "second"]


def test_a_file_of_jobs_is_added_whole_or_not(queue):
    (queue.folder / "jobs.jsonl").write_text('{"command": ["true"]}\n{"comand": ["true"]}\n')
    refused = queue("queue", "add-file", "jobs.jsonl", code=BAD_INPUT)
    assert "jobs.jsonl:2:" in refused.err
    assert queue.jobs() == []


def test_only_named_variables_are_passed_and_secrets_are_not_shown(queue):
    queue.environment |= {"MY_API_KEY": "s3cret-value", "PLAIN": "p", "OTHER": "o"}
    one = queue.add("--env", "MY_API_KEY", "--env", "PLAIN", "--env", "SET=a=b", "--", "env")
    shown = queue("queue", "list", str(one), "--json")
    assert "s3cret" not in shown.out and shown.data["jobs"][0]["environment"]["SET"] == "a=b"
    queue.environment.pop("MY_API_KEY")
    queue.run()
    variables = dict(line.split("=", 1) for line in queue.output(one).decode().splitlines())
    assert variables["MY_API_KEY"] == "s3cret-value" and variables["SET"] == "a=b" and "OTHER" not in variables
    assert variables["NEUROLENS_JOB"] == str(one) and variables["NEUROLENS_ATTEMPT"] == "1"


def test_logs_are_bounded_and_say_what_is_missing(queue):
    one = queue.add("--log-bytes", "10000", "--", "sh", "-c", "seq 1 100000")
    queue.run()
    text = queue.output(one).decode()
    assert text.startswith("1\n2\n3\n") and text.endswith("99999\n100000\n") and len(text) < 10_200
    lost = queue.job(one)["attempts"][0]["lost_bytes"]
    assert f"[neurolens: {lost} bytes are missing here]" in text
    assert queue.job(one)["attempts"][0]["stdout_bytes"] == len("".join(f"{i}\n" for i in range(1, 100_001)))


def test_pause_resume_and_drain(queue):
    queue("queue", "add", "--", "true")
    queue("queue", "pause")
    runner = queue.start("queue", "run")
    time.sleep(1)
    assert queue.job(1)["state"] == "waiting"
    queue("queue", "resume")
    queue.wait_for(1, "done")
    queue("queue", "drain")
    assert runner.wait(PATIENCE) == OK


def test_cancel_ends_a_running_job_and_all_that_it_started(queue):
    one = queue.add("--", "sh", "-c", "setsid sleep 1000 & sleep 1000")
    two = queue.add("--", "true")
    runner = queue.start("queue", "run", "--until-empty", "--grace", "1")
    queue.wait_for(one)
    queue("queue", "cancel", str(one))
    assert runner.wait(PATIENCE) == OK
    assert queue.job(one)["state"] == "cancelled" and queue.ends(one) == ["cancelled"]
    assert queue.job(two)["state"] == "done"
    assert queue.marked() == []


def test_watch_and_run_show_what_happens(queue):
    one = queue.add("--", "sh", "-c", "sleep 1; echo x; sleep 1")
    watch = queue.start("queue", "watch", "--until-empty")
    queue.run()
    out, err = watch.communicate(timeout=PATIENCE)
    assert f"job {one} attempt 1 began".encode() in err and b"1 done" in out


def test_a_silent_job_is_said_to_stall(queue):
    queue.add("--", "sh", "-c", "sleep 4; echo x; sleep 1")
    said = queue.run("--quiet-after", "1").err
    assert "stalls    job 1 has written nothing" in said and "job 1 writes again" in said


# ---- Retries by reason


def test_attempts_are_repeated_by_their_reason(queue):
    count = "echo x >> count; test $(wc -l < count) -ge 3"
    assert queue.add("--retry", "failed=2", shell=count) == 1
    unfit = queue.add("--retry", "unfit=1", "--", "sh", "-c", 'test "$NEUROLENS_ATTEMPT" = 2 || exit 75')
    slow = queue.add("--time-limit", "1", "--retry", "timeout=1", "--", "sleep", "100")
    killed = queue.add("--", "sh", "-c", "kill -9 $$")
    crash = queue.add("--retry", "killed=5", "--", "sh", "-c", "kill -SEGV $$")
    never = queue.add("--retry", "none", "--", "sh", "-c", "kill -9 $$")
    missing = queue.add("--", "no-such-program")
    queue.run("--unfit-pause", "0", "--grace", "1", code=GATE_FAILED)
    assert queue.ends(1) == ["failed", "failed", "done"]
    assert queue.ends(unfit) == ["unfit", "done"]
    assert queue.ends(slow) == ["timeout", "timeout"]
    assert queue.ends(killed) == ["killed", "killed"]
    assert queue.ends(crash) == ["failed"] and queue.ends(never) == ["killed"]
    assert queue.ends(missing) == ["failed"]
    assert "no such program" in queue.job(missing)["attempts"][0]["why"]


# ---- Kills


def test_a_second_runner_names_the_first(queue):
    queue.add("--", "sleep", "1000")
    runner = queue.start("queue", "run")
    queue.wait_for(1)
    refused = queue("queue", "run", "--until-empty", code=BAD_INPUT)
    assert f"process {runner.pid}" in refused.err and "since" in refused.err
    assert queue("queue", "list", "--json").data["runners"][0]["pid"] == runner.pid
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(PATIENCE) == 130
    assert queue.job(1)["state"] == "waiting" and queue.ends(1) == ["stopped"]
    assert queue.marked() == []


@pytest.mark.parametrize("what", ["runner", "keeper", "job", "runner and keeper", "all but the job"])
def test_whoever_is_killed_nothing_runs_twice_unseen(queue, what):
    """The job writes down that it began, and waits to be killed in its first attempt."""
    script = 'echo "$NEUROLENS_ATTEMPT" >> began; test "$NEUROLENS_ATTEMPT" = 1 || exit 0; echo $$ > pid; while :; do sleep 1; done'
    one = queue.add(shell=script)
    runner = queue.start("queue", "run", "--until-empty", "--grace", "1")
    wait_until((queue.folder / "pid").exists)
    wait_until(lambda: (queue.folder / "pid").read_text().strip() != "")
    job = int((queue.folder / "pid").read_text())
    keeper = queue.wait_for(one)["attempts"][0]["pid"]
    others = [pid for pid in queue.marked() if pid not in (job, keeper)]
    supervisors = [pid for pid in others if b"keep-queue-job" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
    chosen = {
        "runner": [runner.pid],
        "keeper": [keeper],
        "job": [job],
        "runner and keeper": [runner.pid, keeper],
        "all but the job": [runner.pid, *supervisors, keeper],
    }[what]
    for pid in chosen:
        os.kill(pid, signal.SIGKILL)
    if runner.pid in chosen:
        runner.wait()
        queue.run()
    else:
        assert runner.wait(PATIENCE) == OK
    assert queue.ends(one) == ["killed", "done"]
    assert (queue.folder / "began").read_text().split() == ["1", "2"]
    assert not pathlib.Path(f"/proc/{job}").exists() or job not in queue.marked()
    assert queue.marked() == []


def test_a_job_that_ended_while_its_runner_was_dead_is_not_run_again(queue):
    """The runner is stopped, so that it does not see the end, and then killed."""
    one = queue.add("--", "sh", "-c", "echo began >> began; sleep 1; exit 3")
    runner = queue.start("queue", "run", "--until-empty")
    queue.wait_for(one)
    runner.send_signal(signal.SIGSTOP)
    wait_until(lambda: queue.marked() == [])
    runner.kill()
    runner.wait()
    queue.run(code=GATE_FAILED)
    attempt = queue.job(one)["attempts"][0]
    assert queue.ends(one) == ["failed"] and attempt["exit_code"] == 3
    assert (queue.folder / "began").read_text() == "began\n"


def test_an_orphan_without_its_mark_is_not_mistaken(queue, tmp_path):
    """A process that only looks like one of the job is left alone."""
    one = queue.add("--", "sh", "-c", "touch began; sleep 1000")
    runner = queue.start("queue", "run")
    wait_until((queue.folder / "began").exists)
    queue.wait_for(one)
    stranger = subprocess.Popen(["sleep", "1000"], env={"NEUROLENS_QUEUE": "other.1.1"}, start_new_session=True, cwd="/")
    runner.kill()
    runner.wait()
    queue("queue", "cancel", str(one))
    queue.run("--grace", "1")
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()
    assert queue.job(one)["state"] == "cancelled" and queue.marked() == []


def test_a_reboot_is_told_from_a_kill(queue):
    """The start of the system is part of the name of a process: one of before it cannot live, and what it did is not known."""
    if os.geteuid() != 0:
        pytest.skip("needs root to give the system another name")
    one = queue.add("--retry", "killed=0", "--", "sleep", "1000")
    runner = queue.start("queue", "run")
    queue.wait_for(one)
    runner.kill()
    runner.wait()
    wait_until(lambda: queue.marked() == [])
    for end in (queue.state / "queue-logs/1").glob("*.end"):
        end.unlink()  # the power was gone before it was written
    boot_id = queue.folder / "boot_id"
    boot_id.write_text("00000000-0000-4000-8000-000000000000\n")
    script = f'mount --bind {boot_id} /proc/sys/kernel/random/boot_id && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", *queue.command("queue", "run", "--until-empty")]
    done = Result(subprocess.run(command, env=queue.environment, capture_output=True, timeout=60))
    if "mount" in done.err or "unshare" in done.err:
        pytest.skip(f"a mount is not permitted here: {done.err.strip()}")
    assert done.code == GATE_FAILED, done
    assert queue.job(one)["attempts"][0]["why"] == "the machine was restarted"


def test_many_kills(queue, tmp_path):
    """The small form of the long trial."""
    done = subprocess.run(
        [sys.executable, REPOSITORY / "tests/full/queue", BINARY, "--jobs", "60", "--kills", "8"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_budget_cuts_the_list(queue):
    for _ in range(40):
        queue.add("--", "true", "a long word " * 10)
    result = queue("queue", "list", "--json", "--budget", "500")
    assert len(result.bytes) <= 2000 and result.envelope["left_out"] and result.data["jobs"]


# ---- Byte for byte

WORD = st.binary(min_size=0, max_size=60).map(lambda b: b.replace(b"\0", b"\1")) | st.text(
    alphabet=st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=40
).map(str.encode)
WORDS = st.lists(WORD, max_size=6)


def kept(job):
    return [base64.b64decode(word) for word in job["command_base64"]] if "command_base64" in job else [
        word.encode() for word in job["command"]
    ]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(words=WORDS)
def test_words_round_trip_byte_for_byte(queue, words):
    """Through the command line, the file, and the answer."""
    command = [str(BINARY).encode(), b"queue", b"add", b"--json", b"--", b"printf", *words]
    done = subprocess.run(command, env=queue.environment, capture_output=True, timeout=60)
    assert done.returncode == OK, done
    job = queue.job(json.loads(done.stdout)["data"]["added"][0])
    assert kept(job) == [b"printf", *words]


def test_commands_reach_their_programs_byte_for_byte(queue):
    """What a program prints of its own words is what was given."""
    commands = [
        [b"a b", b"", b'"', b"'", b"\n\n", b"$HOME `x` \\", b"--json", b"--",
         b"[1,2]", b"{}", b"-x", b"\xff\xfe\x80", "ü🙂\u202e".encode()],
        [b"[a,b]", b"x\ty\r\n", bytes(range(1, 256))],
    ]
    script = 'for word in "$@"; do printf "%s\\0" "$word"; done'
    for words in commands:
        done = subprocess.run(
            [str(BINARY).encode(), b"queue", b"add", b"--", b"sh", b"-c", script.encode(), b"sh", *words],
            env=queue.environment,
            capture_output=True,
        )
        assert done.returncode == OK, done
    queue.run()
    for number, words in enumerate(commands, 1):
        assert queue.output(number).split(b"\0")[:-1] == words


def test_scripts_with_heredocs_reach_the_shell_as_they_are(queue):
    script = """
cat <<'EOF'
it's "quoted" $HOME `x` \\n
\tü🙂
EOF
cat <<-END
\tpid is set: ${HOME:+yes}
\tEND
"""
    wanted = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True).stdout
    queue.add(shell=script)
    (queue.folder / "jobs.yaml").write_text("- shell: |\n" + "".join(f"    {line}\n" for line in script.splitlines()))
    (queue.folder / "jobs.jsonl").write_text(json.dumps({"shell_base64": base64.b64encode(script.encode()).decode()}) + "\n")
    queue("queue", "add-file", "jobs.yaml")
    queue("queue", "add-file", "jobs.jsonl")
    queue.run()
    assert [queue.output(number) for number in (1, 2, 3)] == [wanted] * 3
    assert queue.job(1)["command"] == [script] and queue.job(1)["is_script"]
    assert script in queue("queue", "list", "1").out


# ---- The machine


def test_a_machine_that_somebody_uses_is_waited_for(queue):
    other = Queue(queue.folder, {"NEUROLENS_STATE": str(queue.folder / "other-state")})
    other.add("--name", "theirs", "--", "sh", "-c", "touch began; while [ ! -e go ]; do sleep 0.05; done")
    theirs = other.start("queue", "run", "--until-empty")
    wait_until((queue.folder / "began").exists)
    mine = queue.add("--", "true")
    beside = queue.add("--device", "gpu0", "--", "true")
    runner = queue.start("queue", "run", "--until-empty")
    time.sleep(1)
    assert queue.job(mine)["state"] == "waiting"
    (queue.folder / "go").touch()
    _, said = runner.communicate(timeout=PATIENCE)
    assert b"the machine is in use by" in said and b"theirs" in said
    assert theirs.wait(PATIENCE) == OK and queue.job(mine)["state"] == "done"
    assert queue.job(beside)["state"] == "waiting"
    queue.run("--device", "gpu0")
    assert queue.job(beside)["state"] == "done"


def test_shared_jobs_stand_beside_each_other(queue):
    other = Queue(queue.folder, {"NEUROLENS_STATE": str(queue.folder / "other-state")})
    wait_for_go = "touch began; while [ ! -e go ]; do sleep 0.05; done"
    other.add("--use", "shared", "--", "sh", "-c", wait_for_go)
    theirs = other.start("queue", "run", "--until-empty")
    wait_until((queue.folder / "began").exists)
    queue.add("--use", "shared", "--", "touch", "go")
    queue.run()
    assert theirs.wait(PATIENCE) == OK


# ---- Disks


@pytest.fixture
def small_disk(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", disk]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"a mount is not permitted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def test_a_full_disk_loses_nothing(queue, small_disk):
    queue.environment["NEUROLENS_STATE"] = str(small_disk / "state")
    one = queue.add("--", "sh", "-c", "echo began >> began")
    fill(small_disk)
    refused = queue("queue", "add", "--", "true", code=MISSING)
    assert "disk" in refused.err and "free some space" in refused.err
    refused = queue("queue", "run", "--until-empty", code=MISSING)
    assert "space" in refused.err
    assert not (queue.folder / "began").exists()
    assert [job["state"] for job in queue.jobs()] == ["waiting"]
    (small_disk / "filler").unlink()
    queue.run()
    assert queue.ends(one) == ["done"] and (queue.folder / "began").read_text() == "began\n"


def test_a_disk_that_fills_while_a_job_runs_costs_its_log_and_not_its_end(queue, small_disk):
    queue.environment["NEUROLENS_STATE"] = str(small_disk / "state")
    one = queue.add("--", "sh", "-c", "echo x >> began; while [ ! -e go ]; do sleep 0.05; done; seq 1 300000; exit 5")
    runner = queue.start("queue", "run", "--until-empty")
    wait_until((queue.folder / "began").exists)
    queue.wait_for(one)
    fill(small_disk)
    (queue.folder / "go").touch()
    wait_until(lambda: queue.marked() == [])
    time.sleep(1)
    (small_disk / "filler").unlink()
    code = runner.wait(PATIENCE)
    if code == MISSING:  # it gave up: the next runner finds the end in its file
        queue.run(code=GATE_FAILED)
    attempt = queue.job(one)["attempts"][0]
    assert queue.ends(one) == ["failed"] and attempt["exit_code"] == 5 and attempt["lost_bytes"] > 0
    assert (queue.folder / "began").read_text() == "x\n"


def test_a_limit_of_file_sizes_is_like_a_full_disk(queue):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    one = queue.add("--", "sh", "-c", "seq 1 100000")
    queue("queue", "run", "--until-empty", preexec_fn=limit)
    attempt = queue.job(one)["attempts"][0]
    assert attempt["end"] == "done" and attempt["lost_bytes"] > 0
    (queue.folder / "jobs.jsonl").write_text((json.dumps({"shell": "x" * 100_000}) + "\n") * 5)
    refused = queue("queue", "add-file", "jobs.jsonl", code=MISSING, preexec_fn=limit)
    assert "free some space" in refused.err
    assert len(queue.jobs()) == 1


def test_a_folder_that_cannot_be_written_is_named(queue, small_disk):
    queue.environment["NEUROLENS_STATE"] = str(small_disk / "state")
    one = queue.add("--", "true")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for words in (["add", "--", "true"], ["run", "--until-empty"], ["cancel", str(one)]):
        refused = queue("queue", *words, code=MISSING)
        assert str(small_disk) in refused.err
    assert [job["state"] for job in queue.jobs()] == ["waiting"]
    queue.environment["NEUROLENS_STATE"] = str(small_disk / "new")
    refused = queue("queue", "add", "--", "true", code=MISSING)
    assert "NEUROLENS_STATE" in refused.err


def test_a_ledger_that_cannot_be_written_does_not_matter(queue, small_disk):
    queue.ledger = small_disk / "ledger"
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    one = queue.add("--", "true")
    queue.run()
    assert queue.job(one)["state"] == "done"


# ---- Clocks


def test_a_clock_that_jumps_changes_nothing(queue):
    """The clock of another runner is years away, and then that of the one that takes over; what runs is still known."""
    if shutil.which("faketime") is None:
        pytest.skip("no faketime: apt install faketime")
    one = queue.add("--", "sh", "-c", "echo x >> began; while [ ! -e go ]; do sleep 0.05; done")
    runner = queue.start("queue", "run", "--until-empty")
    wait_until((queue.folder / "began").exists)
    for clock in ("2009-01-01 00:00:00", "2040-01-01 00:00:00"):
        command = ["faketime", clock, *queue.command("queue", "run", "--until-empty")]
        refused = Result(subprocess.run(command, env=queue.environment, capture_output=True, timeout=60))
        assert refused.code == BAD_INPUT and f"process {runner.pid}" in refused.err
    runner.kill()
    runner.wait()
    command = ["faketime", "2009-01-01 00:00:00", *queue.command("queue", "run", "--until-empty")]
    next_runner = subprocess.Popen(command, env=queue.environment, stdout=subprocess.DEVNULL)
    wait_until(lambda: (queue.folder / "began").read_text() == "x\nx\n")  # only then may the job end
    (queue.folder / "go").touch()
    assert next_runner.wait(60) == 0
    assert queue.ends(one) == ["killed", "done"]
    assert (queue.folder / "began").read_text() == "x\nx\n"

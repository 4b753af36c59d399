"""The checks of the documentation find what they are for; the pages themselves are checked by tools/docs."""

import subprocess
import sys

import pytest

from conftest import REPOSITORY

GOOD = '```sh\necho one\nprintf "a\\nb\\nc\\nd\\n"\n```\n\n```text title="prints"\n%s```\n'


def run_page(folder, text, *options):
    page = folder / "page.md"
    page.write_text(text)
    done = subprocess.run([sys.executable, REPOSITORY / "tools/run_readme.py", *options, page], capture_output=True, text=True)
    return done.returncode, done.stdout, page.read_text()


@pytest.mark.parametrize("output", ["a\nb\nc\nd\n", "a\n...\nd\n", "...\nd\n", "a\n...\n", "a\n...\nc\nd\n", "a\nb\n...\nc\nd\n"])
def test_the_output_of_the_last_command_may_leave_lines_out(tmp_path, output):
    assert run_page(tmp_path, GOOD % output)[0] == 0


@pytest.mark.parametrize("output", ["a\nb\nc\n", "one\na\nb\nc\nd\n", "a\n...\nc\n", "...\n", "", "d\n...\na\n"])
def test_another_output_is_a_fault(tmp_path, output):
    code, said, _ = run_page(tmp_path, GOOD % output)
    assert code == 1 and "page.md:7" in said


@pytest.mark.parametrize("before, after", [("a\nx\n...\n", "a\nb\n...\n"), ("x\n...\nd\n", "a\n...\nd\n"), ("x\n", "a\nb\nc\nd\n")])
def test_fix_writes_the_output_and_leaves_the_same_out(tmp_path, before, after):
    assert run_page(tmp_path, GOOD % before, "--fix")[2] == GOOD % after


@pytest.mark.parametrize("text", [
    "```sh\nfalse\n```\n",
    "```sh\nfalse | true\n```\n",
    "```sh\nfalse\ntrue\n```\n",
    '```sh\necho a\n```\n\nprose\n\n```text title="prints"\na\n```\n',
    "```bash\necho a\n```\n",
])
def test_what_fails_or_is_not_compared_is_a_fault(tmp_path, text):
    assert run_page(tmp_path, text)[0] == 1


def test_commands_of_several_lines_and_the_state_of_the_shell(tmp_path):
    text = ('```sh\nx=1; cd samples\n```\n```sh\ncat > ../f <<END\n1\n2\nEND\nfor i in a b; do\n  echo "$i\n$x"\ndone\n```\n'
            '```text title="prints"\na\n1\nb\n1\n```\n```sh\ncat ../f \\\n  ../f\n```\n```text title="prints"\n1\n2\n1\n2\n```\n')
    code, said, _ = run_page(tmp_path, text)
    assert code == 0, said


def site_says(folder, body):
    (folder / "index.html").write_text(f'<html><body><h1 id="top">x</h1>{body}</body></html>')
    done = subprocess.run([sys.executable, REPOSITORY / "tools/check_site.py", folder], capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.mark.parametrize("body, code", [
    ('<a href="index.html#top">x</a><a href="https://example.org">x</a><link rel="canonical" href="https://example.org">', 0),
    ('<a href="gone.html">x</a>', 1),
    ('<a href="index.html#gone">x</a>', 1),
    ('<a href="#gone">x</a>', 1),
    ('<script src="https://example.org/x.js"></script>', 1),
    ('<script src="//example.org/x.js"></script>', 1),
    ('<link rel="stylesheet" href="https://example.org/x.css">', 1),
    ('<img src="https://example.org/x.png">', 1),
])
def test_a_site_that_fetches_or_leads_nowhere_is_a_fault(tmp_path, body, code):
    assert site_says(tmp_path, body)[0] == code

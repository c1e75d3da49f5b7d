"""aider for bench/tokens.js, in the Python that it is installed in.

`count`: a JSON list of texts on stdin -> their tokens. `run`: {runs: [{dir, at, path, message}], args} -> for each run the
file's text afterwards; the program is aider's own command line, imported once. The result is the line `RESULT` of stdout, as JSON.
"""
import json
import os
import subprocess
import sys


def count(texts):
    import litellm
    from tokenizers import Tokenizer

    tokenizers = os.path.join(os.path.dirname(litellm.__file__), "litellm_core_utils", "tokenizers")
    with open(os.path.join(tokenizers, "anthropic_tokenizer.json"), encoding="utf8") as file:
        tokenizer = Tokenizer.from_str(file.read())
    return [len(tokenizer.encode(text).ids) for text in texts]


def git(run, *args):
    subprocess.run(["git", "-C", run["dir"], *args], check=True, stdout=subprocess.DEVNULL)


def run_all(runs, args):
    from aider.main import main

    results = []
    for run in runs:
        git(run, "checkout", "--quiet", "--force", "--detach", run["at"])
        git(run, "clean", "-fdqx", "-e", ".aider*")
        os.chdir(run["dir"])
        try:
            main([*args, "--message", run["message"], run["path"]])
        except SystemExit:
            pass
        with open(run["path"], encoding="utf8", newline="") as file:
            results.append(file.read())
    return results


asked = json.load(sys.stdin)
result = count(asked) if sys.argv[1] == "count" else run_all(**asked)
print("\nRESULT " + json.dumps(result))

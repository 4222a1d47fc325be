"""The commands and where each of them lives. Nothing heavy is imported here: `treewright --help` has to be quick."""

from __future__ import annotations

from cyclopts import App

import treewright

EPILOGUE = """\
Exit status: 0 verified, 1 answered but unverified, 2 wrong input, 3 model or sandbox unavailable, 130 interrupted.

Models: local, local:FILE.gguf, openai:NAME, openai:NAME@http://host:8000/v1, anthropic:NAME, google:NAME, scripted:FILE.
The environment variable TREEWRIGHT_MODEL names the default. Try: treewright solve examples/tasks/01-add-two-numbers.toml"""

app = App(
    name="treewright",
    help="Execution-guided tree search with language models: programs for tasks, answers with tools.",
    help_epilogue=EPILOGUE,
    version=treewright.__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # `main` says so
)
app.command("treewright.cli.solve:solve", name="solve", help="Search for a program that passes a task's tests.")
app.command("treewright.cli.ask:ask", name="ask", help="Answer a question with programs that call your tools.")
app.command("treewright.cli.solve:resume", name="resume", help="Go on with a run that was stopped, paying for nothing twice.")
app.command("treewright.cli.record:runs", name="runs", help="List the runs in the journal, newest first.")
app.command("treewright.cli.record:show", name="show", help="Show a run's tree, or one node with its program and prompts.")
app.command("treewright.cli.demo:demo", name="demo", help="Solve every task of a folder and print a table.")
app.command("treewright.cli.sandbox:sandbox", name="sandbox", help="Say how programs are isolated here, and prove it.")
app.command("treewright.cli.tools:tools", name="tools", help="List the tools of sources as a model sees them.")
app.command("treewright.cli.bench:bench", name="bench", help="Measure a strategy on a published benchmark with tools.")
app.command("treewright.cli.prompts:app", name="prompts", help="List, compare and evolve the prompts of a pool.")
app.command("treewright.cli.export:export", name="export", help="Write training data from recorded runs.")
app.register_install_completion_command(name="--install-completion")

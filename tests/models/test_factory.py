"""`build`: each kind of name gives its adapter; wrong names get one sentence with the way out. Nothing heavy is imported."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from treewright.core.errors import ModelUnavailable, UserError
from treewright.models.base import Message, Request
from treewright.models.factory import build, known
from treewright.models.local import LocalModel
from treewright.models.provider import ProviderModel
from treewright.models.scripted import Scripted


def test_each_kind_of_name_gives_its_adapter_under_the_name_that_was_written(tmp_path: Path) -> None:
    script = tmp_path / "s.jsonl"
    script.write_text('{"reply": "hi"}')
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))
    kinds = {
        "local": LocalModel,
        f"local:{gguf}": LocalModel,
        f"scripted:{script}": Scripted,
        "openai:gpt-4o-mini": ProviderModel,
        "openai:llama3:8b@http://host:8000/v1": ProviderModel,
        "anthropic:claude-sonnet-4-5": ProviderModel,
        "google-gla:gemini-2.5-pro": ProviderModel,
        "openrouter:qwen/qwen3-coder": ProviderModel,
    }
    for name, kind in kinds.items():
        model = build(name)
        assert type(model) is kind
        assert model.name == name


def test_a_model_can_be_used_as_a_block(tmp_path: Path) -> None:
    script = tmp_path / "s.jsonl"
    script.write_text('{"reply": "hi"}')

    async def run() -> str:
        async with build(f"scripted:{script}") as model:
            return (await model.complete(Request((Message("user", "x"),)))).text

    assert asyncio.run(run()) == "hi"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpt-4o-mini", "did you mean 'openai:gpt-4o-mini'?"),
        ("opnai:gpt-4o", "did you mean 'openai:gpt-4o'?"),
        ("Local", "did you mean 'local'?"),
        ("foo:bar", "unknown model 'foo:bar'; known are local:, scripted:, anthropic:"),
        ("", "unknown model ''"),
        ("openai:", "lacks the model's own name: openai:NAME"),
        ("openai", "lacks the model's own name: openai:NAME"),
        ("scripted:", "needs its file"),
        ("scripted:/nowhere/x.jsonl", "/nowhere/x.jsonl cannot be read"),
        ("local:/nowhere/x.gguf", "/nowhere/x.gguf cannot be read"),
        ("openai:x@ftp://host", "is no address"),
    ],
)
def test_a_wrong_name_gets_one_sentence_with_the_way_out(name: str, says: str) -> None:
    with pytest.raises(UserError) as caught:
        build(name)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_base_url_is_for_openai_only() -> None:
    assert build("openai:x", base_url="http://host/v1").name == "openai:x"
    with pytest.raises(UserError, match="goes with openai:NAME only"):
        build("anthropic:x", base_url="http://host/v1")


def test_a_provider_whose_package_is_missing_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "groq", None)
    for loaded in [name for name in sys.modules if name.startswith(("pydantic_ai.providers.groq", "pydantic_ai.models.groq"))]:
        monkeypatch.delitem(sys.modules, loaded)

    async def run() -> None:
        async with build("groq:x"):
            pass

    with pytest.raises(ModelUnavailable, match=r"groq:x needs a package .* pip install 'treewright\[providers\]'"):
        asyncio.run(run())


def test_the_local_library_missing_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))

    async def run() -> None:
        async with build(f"local:{gguf}"):
            pass

    with pytest.raises(ModelUnavailable, match=r"pip install 'treewright\[local\]'"):
        asyncio.run(run())


def test_known_names_hold_ours_and_the_usual_providers() -> None:
    names = known()
    assert names[:2] == ("local", "scripted")
    assert {"openai", "anthropic", "google", "mistral", "groq", "openrouter", "ollama"} <= set(names)
    assert len(names) == len(set(names))


def test_building_imports_no_heavy_library() -> None:
    heavy = "('pydantic_ai', 'openai', 'xllamacpp', 'genai_prices', 'rich', 'pydantic')"
    program = (
        "import sys\n"
        "from treewright.models.factory import build\n"
        "import treewright.models.local, treewright.models.prices, treewright.models.provider, treewright.models.throttled\n"
        "build('openai:gpt-4o-mini'); build('local')\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"

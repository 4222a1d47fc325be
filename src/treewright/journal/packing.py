"""Bytes made smaller: raw deflate, for the bodies of events with a dictionary of what all of them repeat."""

from __future__ import annotations

import zlib

#: What bodies of events have in common, the most frequent last. Part of the format: a journal is only readable with the very
#: bytes it was written with, so a change needs a new `SCHEMA`.
WORDS = (
    '{"spec":{"task":{"prompt":{"§":1},"tests":[],"examples":[],"entry_point":"","setup":"","language":"python",'
    '"time_limit_s":2.0,"name":""},"model":"scripted:local:openai:anthropic:google:","strategy":"codetree","preset":"recommended",'
    '"without":[],"limits":{"executions":20,"calls":null,"tool_calls":null,"tokens":null,"dollars":null,"seconds":null},'
    '"parallel":1,"seed":0,"sandbox":"auto","base_url":null},"resumed":0,"kind":"run_started"}'
    '{"reason":"accepted","finished":true,"solved":true,"verified":true,"answer":{"§":1},"evidence":"node 0.0, accepted: it '
    'passes every visible test","spent":{"executions":1,"calls":1,"tokens":1,"dollars":0.00,"seconds":0.0},"kind":"run_ended"}'
    '"verdict":"timeout""memory""error","expected":"","actual":"","detail":{"§":1},"seconds":0.00},'
    '"thinker.strategies""thinker.reflections""debugger""critic.strategy""critic.outputs""critic.verification","attempt":1,'
    '"reply":null,"error":"server: timeout: cannot be reached","finish":"length","dollars":0.00'
    '{"node":"0.0.0","proposals":[{"action":{"idea":{"§":1}},"prior":0.3},{"action":{"idea":""},"prior":0.1},'
    '{"action":{"idea":{"§":1}},"prior":1.0},{"action":{"idea":{"§":1}},"prior":1.0}],"kind":"node_expanded"}'
    '{"node":"0.0.0","outcome":{"program":{"§":1},"report":{"results":['
    '{"test":"assert ","verdict":"fail","expected":"","actual":"","detail":"","seconds":0.00},'
    '{"test":{"§":1},"verdict":"pass","expected":"","actual":"","detail":"","seconds":0.00}],"error":"","stdout":"",'
    '"level":"namespaces"}},"evaluation":{"score":1.0,"verdict":"prune""keep""accept""expand","feedback":{"§":1},'
    '"opinion":true},"kind":"node_evaluated"}'
    '{"node":"0.0.0","level":"namespaces","passed":0,"total":3,"seconds":0.00,"kind":"program_ran"}'
    '["assistant",{"§":1}],["user",{"§":1}],["assistant",{"§":1}],["user",{"§":1}],'
    '{"call":1,"node":"0.0.0","role":"solver","attempt":0,"digest":"","model":{"§":1},"messages":[["system",{"§":1}],["user",{"§":1}]],'
    '"reply":{"§":1},"error":"","finish":"stop","input_tokens":1,"output_tokens":1,"cached_tokens":0,'
    '"spent":{"calls":1,"tokens":1},"seconds":0.000,"kind":"model_called"}'
    '{"call":1,"reserved":{"calls":1,"tokens":4},"kind":"budget_changed"}'
).encode()
_RAW = -15


def pack(data: bytes, words: bytes = b"") -> bytes:
    """`data`, smaller; `unpack` with equal `words` gives it back."""
    press = zlib.compressobj(6, zlib.DEFLATED, _RAW, zdict=words)
    return press.compress(data) + press.flush()


def unpack(data: bytes, words: bytes = b"") -> bytes:
    """What `pack` made smaller.

    Raises:
        ValueError: the data is damaged.
    """
    press = zlib.decompressobj(_RAW, zdict=words)
    try:
        plain = press.decompress(data)
    except (zlib.error, TypeError) as error:
        raise ValueError(f"its data is damaged ({error})") from error
    if not press.eof:
        raise ValueError("its data is cut short")
    if press.unused_data:
        raise ValueError("its data is damaged (something follows its end)")
    return plain

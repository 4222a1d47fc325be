"""What the `process` adapter's child runs first: `LAUNCH` is handed to `python -c`.

It imports nothing that is not built into the interpreter, for it is paid on every run. Arguments: descriptors of the program's
text, of the gate and of the channel (-1 for none), seconds until an alarm, folders of packages (separated by colons, for the
interpreter starts without looking for them), the kind of text, and the command for kind "exec".
The parent sets the resource limits while the child waits at the gate, so no line of the program runs without them; the child
then overwrites the first byte of the text, which tells the parent that the program was reached. The alarm ends a program whose
parent died before it could.
"""

LAUNCH = r"""
def launch():
    import _signal, posix, sys
    text, gate, channel = map(int, sys.argv[1:4])
    sys.path += filter(None, sys.argv[5].split(":"))
    kind, command = sys.argv[6], sys.argv[7:]
    if not posix.read(gate, 1):
        posix._exit(0)
    pieces, at = [], 1
    while piece := posix.pread(text, 1 << 20, at):
        pieces.append(piece)
        at += len(piece)
    posix.pwrite(text, b"!", 0)
    _signal.setitimer(_signal.ITIMER_REAL, float(sys.argv[4]))
    if channel >= 0 and channel != 3:
        posix.dup2(channel, 3)
    for descriptor in {text, gate, channel} - {-1, 3 if channel >= 0 else -1}:
        posix.close(descriptor)
    posix.environ.pop(b"PYTHONHASHSEED")
    posix.unsetenv(b"PYTHONHASHSEED")
    if kind == "exec":
        posix.execve(command[0], command, posix.environ)
    if "os" in sys.modules:
        sys.modules["os"].environ.pop("PYTHONHASHSEED", None)
    sys.argv = ["program.py"]
    import builtins
    builtins.exit = builtins.quit = sys.exit
    main = globals()
    del main["launch"]
    if kind == "compiled":
        import marshal
        exec(marshal.loads(b"".join(pieces)), main)
        return
    source = b"".join(pieces).decode("utf-8", "surrogatepass")
    def show(kind, error, trace):
        import linecache, traceback
        linecache.cache["program.py"] = (len(source), None, source.splitlines(True), "program.py")
        while trace and trace.tb_frame.f_code.co_filename == "<string>":
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)
    sys.excepthook = show
    exec(compile(source, "program.py", "exec", dont_inherit=True), main)
launch()
"""

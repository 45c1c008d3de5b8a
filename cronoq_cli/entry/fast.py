"""A command line on its fast way: hand the words to the daemon, print its answer, leave.

Builtins only, since every import would show in the time of each command. Whatever is unusual (no daemon, a
stream, an editor, a strange path) goes the full way through `cronoq_cli.client.main`. The facts repeated here are
held equal to the rooms they come from by tests/entry. The script beside this file runs it.
"""

import posix
import sys

TYPE_CHECKING = False  # as of `typing`, which costs too much to import
if TYPE_CHECKING:
    from _socket import socket
    from typing import NoReturn

VERSION = b"0.1.0"
LINE_MARK = b"cronoq-a1"
SOCKET_NAME = b"cronoq.sock"
LONGEST_PATH = 100
MAX_ANSWER = 512 * 1024 * 1024
INTERNAL, INTERRUPTED, BROKEN_PIPE = 125, 130, 141
EPIPE = 32


class FullWay(Exception):
    """This command line is not for the fast way. The argument tells whether the daemon may have carried it out."""


class NoDaemon(FullWay):
    """None listens. The arguments are the home that was named, the words behind it, and the state directory."""


def main() -> "NoReturn":
    """Run one command line and end the process."""
    try:
        keep_standard_streams()
        status = choose_way([encode(word) for word in sys.argv[1:]])
    except KeyboardInterrupt:
        status = INTERRUPTED
    posix._exit(status)


def choose_way(words: list[bytes]) -> int:
    """The exit status of the words, run on the fast way or else in full."""
    try:
        return run(words)
    except FullWay as way:
        unanswered = way.args == (True,)
        absent = way.args if isinstance(way, NoDaemon) else None
    return go_full_way(unanswered, absent)


def keep_standard_streams() -> None:
    """Occupy closed standard streams, so that no socket takes their number; writing there still fails."""
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        for number in (0, 1, 2):
            try:
                posix.fstat(number)
            except OSError:
                posix.open("/dev/null", posix.O_RDONLY)


def encode(text: str) -> bytes:
    """The bytes that the system gave for a text of its own."""
    return text.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


def run(words: list[bytes]) -> int:
    """The exit status of the words, answered by the daemon and printed. Raises FullWay."""
    if words == [b"--version"]:
        return show(b"cronoq %s\n" % VERSION, b"", 0)
    home, words = split_home(words)
    paths = find_sockets(home, posix.environ)
    request = forward(words)
    connection = connect(paths)
    if connection is None:
        raise NoDaemon(home, words, paths[-1].rpartition(b"/")[0])
    try:
        connection.sendall(request)
    except OSError:
        raise FullWay from None
    kind, answer = receive(connection)
    if kind != b"R":
        raise FullWay
    length = int.from_bytes(answer[1:5], "big")
    return show(answer[5 : 5 + length], answer[5 + length :], answer[0])


def split_home(words: list[bytes]) -> tuple[bytes | None, list[bytes]]:
    """What a leading `--home` says (or None), and the words after it."""
    home = None
    if words and words[0] == b"--home" and len(words) > 1:
        home, words = words[1], words[2:]
    elif words and words[0].startswith(b"--home="):
        home, words = words[0][7:], words[1:]
    if home == b"" or any(word == b"--home" or word.startswith(b"--home=") for word in words):
        raise FullWay
    return home, words


def find_sockets(home: bytes | None, environ: dict[bytes, bytes]) -> list[bytes]:
    """Where the daemon's socket can be, likeliest first: the rule of config/paths. Raises FullWay for odd paths."""
    home = home or environ.get(b"CRONOQ_HOME")
    if home:
        directories = [home]
    else:
        state = environ.get(b"XDG_STATE_HOME", b"")
        if not state.startswith(b"/"):
            if not environ.get(b"HOME", b"").startswith(b"/"):
                raise FullWay
            state = environ[b"HOME"] + b"/.local/state"
        runtime = environ.get(b"XDG_RUNTIME_DIR", b"")
        directories = [runtime + b"/cronoq"] if runtime.startswith(b"/") else []
        directories.append(state + b"/cronoq")
    if any(b".." in directory for directory in directories):
        raise FullWay  # only the full way takes such a path apart
    return [directory + b"/" + SOCKET_NAME for directory in directories]


def forward(words: list[bytes]) -> bytes:
    """The frame of kind A with the words and where they were typed (wire/codec has its layout)."""
    environ = posix.environ
    try:
        cwd = posix.getcwdb()
    except OSError:
        raise FullWay from None
    flags = b"".join(flag for number, flag in enumerate((b"i", b"o", b"e")) if posix.isatty(number))
    columns = b"%d" % posix.get_terminal_size(1).columns if b"o" in flags else b""
    umask = posix.umask(0o077)
    posix.umask(umask)
    head = [LINE_MARK, VERSION, flags, columns, b"%o" % umask, b"%d" % len(words), b"%d" % len(environ), cwd]
    payload = b"\0".join([*head, *words, *[name + b"=" + value for name, value in environ.items()]])
    return (len(payload) + 1).to_bytes(4, "big") + b"A" + payload


def connect(paths: list[bytes]) -> "socket | None":
    """A connection to the daemon of our own user at the first of `paths` that has one."""
    from _socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET, socket

    for path in paths:
        connection = socket(AF_UNIX, SOCK_STREAM)
        try:
            connection.connect(path if len(path) <= LONGEST_PATH else shorten(path))
        except OSError:
            connection.close()
            continue
        credentials = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
        if int.from_bytes(credentials[4:8], sys.byteorder) == posix.geteuid():
            return connection
    return None


def shorten(path: bytes) -> bytes:
    """The same place with a name short enough for a socket address."""
    directory, _, name = path.rpartition(b"/")
    return b"/proc/self/fd/%d/%s" % (posix.open(directory, posix.O_PATH | posix.O_CLOEXEC), name)


def receive(connection: "socket") -> tuple[bytes, bytes]:
    """Kind and payload of the frame that answers. Raises FullWay."""
    data = bytearray()
    missing = 5
    while missing > 0:
        try:
            part = connection.recv(min(missing, 1 << 20) if len(data) >= 5 else 1 << 16)
        except OSError:
            raise FullWay from None  # reset: the daemon went away before it had read what we sent
        if not part:
            raise FullWay(True)
        data += part
        if len(data) >= 5:
            length = int.from_bytes(data[:4], "big")
            if not 0 < length <= MAX_ANSWER:
                raise FullWay(True)
            missing = 4 + length - len(data)
    return bytes(data[4:5]), bytes(data[5:])


def show(out: bytes, err: bytes, status: int) -> int:
    """Write what is for stderr and for stdout; the exit status, or the one that tells that writing failed."""
    try:
        write(2, err)
    except OSError:
        pass  # nobody listens there: the answer itself still counts
    try:
        write(1, out)
    except OSError as error:
        if error.errno == EPIPE:
            return BROKEN_PIPE
        try:
            write(2, b"cronoq: cannot write the answer: %s\n" % encode(str(error.strerror)))
        except OSError:
            pass
        return INTERNAL
    return status


def write(number: int, data: bytes) -> None:
    """Write all of `data`, also where the other end reads slowly and the descriptor does not block."""
    view = memoryview(data)
    while view:
        try:
            view = view[posix.write(number, view) :]
        except BlockingIOError:
            import select

            select.select((), (number,), ())


def go_full_way(unanswered: bool, absent: "tuple[bytes | None, list[bytes], bytes] | None") -> int:
    """The exit status of the command line, run by the whole program here. `absent`: what NoDaemon says; one that the
    line wants begins to load."""
    try:
        if absent:
            from cronoq_cli.client.head_start import begin

            begin(*absent)
        from cronoq_cli.client.main import main as run_full
    except ImportError as error:
        write(2, b"cronoq: its package cannot be imported: %s (reinstall cronoq)\n" % encode(str(error)))
        return INTERNAL
    return run_full(unanswered=unanswered)

"""The guest's kernel: Debian's or Ubuntu's own package, unpacked into a cache directory; nothing is installed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slotcar_lab.errors import LabError
from slotcar_lab.requirements import as_root, which

#: Packages that only name the current kernel, the first that the archive knows.
META_PACKAGES = ("linux-image-amd64", "linux-image-virtual", "linux-image-generic")
#: What the guest needs before it can see the host's root; their dependencies come with them.
BOOT_MODULES = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p", "overlay", "virtio_rng")
INIT = Path(__file__).parent / "guest" / "init.sh"


@dataclass(frozen=True, slots=True)
class GuestKernel:
    """An unpacked kernel: `image` boots with `initramfs`; `modules` is its `/lib/modules` directory."""

    release: str
    image: Path
    initramfs: Path
    modules: Path


def cache_dir() -> Path:
    """Where the kernel is kept between labs; it can be deleted at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "slotcar"


def prepare(progress: Callable[[str], None]) -> GuestKernel:
    """The newest kernel in the cache, or one fetched now. Of labs that begin at a time one fetches, and the others wait.

    Raises:
        LabError: no kernel in the cache and none to be had from the package archive.
    """
    kernels = cache_dir() / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    with _locked(kernels):
        kernel = _unpacked(kernels)
        if kernel is None:
            _fetch(kernels, progress)
            kernel = _unpacked(kernels)
        if kernel is None:
            raise LabError(f"the kernel package was unpacked into {kernels}, but holds no kernel image with modules")
        root, release = kernel
        initramfs = _initramfs(root, release)
    return GuestKernel(release, root / "boot" / f"vmlinuz-{release}", initramfs, root / "lib" / "modules")


@contextlib.contextmanager
def _locked(kernels: Path) -> Iterator[None]:
    """For one lab at a time: a second one would take what the first is just unpacking away."""
    with (kernels / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _unpacked(kernels: Path) -> tuple[Path, str] | None:
    for stamp in sorted(kernels.glob("*/complete"), reverse=True):
        for image in stamp.parent.glob("boot/vmlinuz-*"):
            return stamp.parent, image.name.removeprefix("vmlinuz-")
    return None


def _fetch(kernels: Path, progress: Callable[[str], None]) -> None:
    packages = _packages()
    progress(f"fetching {packages[0]} for the guest (70 MB, once; it is not installed)")
    with tempfile.TemporaryDirectory(dir=kernels, prefix="unpacking-") as scratch:
        work = Path(scratch)
        # As root, apt drops to a user who may not write here, and warns; the signature is checked all the same.
        _run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *packages], "the kernel's package", work)
        tree = work / "tree"
        for package in work.glob("*.deb"):
            _run(["dpkg-deb", "-x", str(package), str(tree)], "its unpacking", work)
        if not (tree / "lib").exists() and (tree / "usr" / "lib" / "modules").exists():
            (tree / "lib").symlink_to("usr/lib")
        releases = [path.name for path in (tree / "lib" / "modules").iterdir()]
        _run([which("depmod") or "depmod", "-b", str(tree), releases[0]], "the list of its modules", work)
        (tree / "complete").touch()
        target = kernels / releases[0]
        shutil.rmtree(target, ignore_errors=True)
        tree.rename(target)


def _packages() -> list[str]:
    """The packages that hold the current kernel and all its modules."""
    if which("apt-get") is None:
        raise LabError(
            "the lab's guest takes its kernel from a Debian or Ubuntu archive, and there is no apt-get here"
        )
    names = _current_packages()
    root = as_root()
    if not names and root is not None:
        subprocess.run([*root, "apt-get", "update", "-qq"], check=False, capture_output=True)
        names = _current_packages()
    if not names:
        raise LabError(f"the package archive knows none of {', '.join(META_PACKAGES)}; try: sudo apt-get update")
    return names


def _current_packages() -> list[str]:
    """Debian: linux-image-VERSION holds all. Ubuntu: linux-image-VERSION, linux-modules- and linux-modules-extra-."""
    for meta in META_PACKAGES:
        depends = _output(["apt-cache", "depends", meta])
        images = re.findall(r"Depends: (linux-image-(?:unsigned-)?\d\S*)", depends)
        if not images:
            continue
        version = re.sub(r"^linux-image-(unsigned-)?", "", images[0])
        companions = [f"linux-modules-{version}", f"linux-modules-extra-{version}"]
        return [images[0], *(name for name in companions if _output(["apt-cache", "show", name]))]
    return []


def _initramfs(root: Path, release: str) -> Path:
    """A busybox, the boot modules in the order of loading, and our first process, as a gzipped cpio archive."""
    digest = hashlib.sha256(INIT.read_bytes() + " ".join(BOOT_MODULES).encode()).hexdigest()[:12]
    target = root / f"initramfs-{digest}"
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=root, prefix="initramfs-making-") as scratch:
        tree = Path(scratch) / "tree"
        (tree / "bin").mkdir(parents=True)
        (tree / "modules").mkdir()
        shutil.copy(which("busybox") or "/bin/busybox", tree / "bin" / "busybox")
        shutil.copy(INIT, tree / "init")
        (tree / "init").chmod(0o755)
        order = [_copy_module(path, tree / "modules") for path in _boot_modules(root, release)]
        (tree / "modules" / "order").write_text("".join(f"{name}\n" for name in order))
        archive = Path(scratch) / "made"
        pack = f"find . | {which('cpio') or 'cpio'} --quiet -o -H newc | gzip -1 >'{archive}'"
        _run(["sh", "-c", pack], "the initramfs", tree)
        archive.rename(target)
    return target


def _boot_modules(root: Path, release: str) -> list[Path]:
    modules: dict[Path, None] = {}
    for module in BOOT_MODULES:
        argv = [which("modprobe") or "modprobe", "-d", str(root), "-S", release, "--show-depends", module]
        for line in _output(argv).splitlines():
            words = line.split()
            if words[0] == "insmod":  # the other word is `builtin`
                modules[Path(words[1])] = None
    return list(modules)


def _copy_module(path: Path, directory: Path) -> str:
    """busybox cannot load a compressed module: unpack it on the way."""
    if path.suffix == ".xz":
        (directory / path.stem).write_bytes(lzma.decompress(path.read_bytes()))
        return path.stem
    if path.suffix == ".zst":
        _run(["zstd", "-q", "-d", str(path), "-o", str(directory / path.stem)], "unpacking of a module", directory)
        return path.stem
    shutil.copy(path, directory / path.name)
    return path.name


def _run(argv: list[str], what: str, directory: Path) -> None:
    try:
        done = subprocess.run(argv, check=False, capture_output=True, text=True, cwd=directory)
    except FileNotFoundError as error:
        raise LabError(f"the guest's kernel: {what} needs the command {argv[0]}, which is missing here") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise LabError(f"the guest's kernel: {what} failed: {lines[-1] if lines else f'exit {done.returncode}'}")


def _output(argv: list[str]) -> str:
    return subprocess.run(argv, check=False, capture_output=True, text=True).stdout

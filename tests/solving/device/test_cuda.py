"""Compiling, loading and launching for CUDA, as far as that can be tested without a GPU."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import metricfit as mf
from metricfit.solving.device import Layout, batch, cuda, host, solve_games
from metricfit.solving.device.program import cuda_source, host_source, kept

# A driver that says what it is asked for, and hands the kernel's argument on.
DRIVER = r"""
#include <cstdio>
#include <cstring>
static void (*play)(void*, int, int, int);
struct Attribute { unsigned id, padding, value[16]; };
struct Launch {
    unsigned blocks[3], threads[3], shared;
    void* stream;
    Attribute* attributes;
    unsigned count;
};
extern "C" {
void set_player(void* function) { play = (void (*)(void*, int, int, int))function; }
int cuModuleLoadData(void** module, const void* image) {
    *module = (void*)1;
    return memcmp(image, "image", 5);
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
    *function = (void*)2;
    return module != (void*)1 || strcmp(name, "solve_games");
}
int cuFuncSetAttribute(void* function, int attribute, int) { return function != (void*)2 || attribute != 8; }
int cuGetErrorString(int, const char** text) { *text = "a reason"; return 0; }
int cuLaunchKernelEx(const Launch* launch, void* function, void** arguments, void** extra) {
    const unsigned *blocks = launch->blocks, *threads = launch->threads;
    if (function != (void*)2 || blocks[1] * blocks[2] * threads[1] * threads[2] != 1 || extra) return 1;
    if (threads[0] != 128 || launch->shared != 4000) return 1;
    if (launch->stream != (void*)7) return 2;
    int team = 1;
    if (launch->count == 1 && launch->attributes->id == 4) team = launch->attributes->value[0];
    play(arguments[0], blocks[0], 1, team);
    return 0;
}
}
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ctypes.CDLL:
    target = tmp_path / "driver.so"
    host.build(DRIVER, target, "-shared", "-fPIC")
    loaded = ctypes.CDLL(str(target))
    loaded.set_player(ctypes.cast(host.library().solve_games, ctypes.c_void_p))
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda name: loaded)
    return loaded


@pytest.mark.parametrize("team", [1, 2])
def test_the_kernel_gets_the_argument_that_the_program_for_the_cpu_gets(
    driver: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, team: int
) -> None:
    layout, scores = Layout(mf.f1, (0, 5), (5, 3)), torch.linspace(-1, 1, 8, dtype=torch.float64)
    expected = solve_games(layout, scores, team=team)
    kernel = cuda.Kernel(b"image of a module", "solve_games", 4000)

    class Launcher:
        @staticmethod
        def solve_games(argument, blocks: int, threads: int, team: int) -> None:
            kernel.launch(argument._obj, blocks, 128, 4000, 7, team)

    monkeypatch.setattr(host, "library", Launcher)
    played = solve_games(layout, scores, team=team)
    assert torch.equal(played.bounds, expected.bounds)
    assert torch.equal(played.adversary, expected.adversary)


def test_what_the_driver_refuses_is_an_error_with_its_reason(driver: ctypes.CDLL) -> None:
    with pytest.raises(RuntimeError, match=r"cuModuleLoadData failed with CUDA error -?\d+: a reason"):
        cuda.Kernel(b"something else", "solve_games", 4000)


def test_without_a_compiler_for_cuda_there_gives_a_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cuda, "find_nvrtc", lambda: None)
    monkeypatch.setattr(cuda.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="install the package nvidia-cuda-nvrtc"):
        cuda.compile_kernel("sm_90")


def test_without_a_compiler_for_c_there_gives_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"install g\+\+"):
        host.compiler()


def test_what_does_not_compile_is_shown(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="nonsense"):
        host.build("nonsense;", tmp_path / "nothing")


def test_a_program_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = []

    def build() -> bytes:
        built.append(1)
        return b"program"

    assert kept("key", ".bin", build).read_bytes() == b"program"
    assert kept("key", ".bin", build).read_bytes() == b"program"
    assert len(built) == 1
    assert kept("other key", ".bin", build) != kept("key", ".bin", build)


def test_a_program_is_kept_elsewhere_where_the_cache_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kept("key", ".bin", lambda: b"program").read_bytes() == b"program"


def test_a_damaged_program_is_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = kept("key", ".bin", lambda: b"program")
    path.write_bytes(b"prog")
    assert kept("key", ".bin", lambda: b"program again").read_bytes() == b"program again"


def test_a_user_without_a_home_keeps_the_program_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("could not determine home directory")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert kept("key", ".bin", lambda: b"program").read_bytes() == b"program"


def test_every_game_that_is_laid_out_has_a_launch_shape() -> None:
    for n in (1, 32, 64, 65, 128, 256, 257, batch.MOST_ITEMS):
        threads, numbers = batch.launch_shape(n)
        assert threads % 32 == 0
        assert threads <= 384
        assert host.library().quick_numbers(n) <= numbers <= cuda.MOST_SHARED // 8


# Lanes of a warp, threads of a block, blocks of a team, items.
RACES = [(1, 5, 1, 20), (4, 4, 1, 20), (4, 8, 1, 9), (1, 3, 2, 20), (4, 4, 2, 33)]


@pytest.mark.slow
@pytest.mark.parametrize(("lanes", "threads", "team", "n"), RACES)
def test_no_thread_reads_what_another_is_writing(
    tmp_path: Path, lanes: int, threads: int, team: int, n: int
) -> None:
    """The kernel with real threads under ThreadSanitizer, which stops at the first race."""
    scores = ", ".join(str(x) for x in torch.linspace(-0.4, 0.7, n).tolist())
    tables = torch.from_numpy(batch._tables_on(torch.device("cpu"), mf.kappa, n).numpy()).ravel().tolist()
    main = f"""
    int main() {{
        static const double tables[] = {{{", ".join(map(repr, tables))}}};
        static const double scores[] = {{{scores}}};
        const long long games[] = {{0, {n}, reinterpret_cast<long long>(tables)}};
        const double reach[] = {{4.0}};
        const double targets[{n}] = {{1.0, 0.0, 1.0}}, best[{n + 1}] = {{}};
        double adversary[{n}], predictor[{n}], bounds[2], losses[1], slopes[{n}];
        int report[2];
        const long long size = workspace_numbers({n});
        std::vector<double> workspace({team} * size);
        Batch batch = {{scores, targets, best, games, reach, adversary, predictor, bounds, losses, slopes,
                        report, workspace.data(), size, 1, 150, {n + 1}, 14000, 1e-4}};
        solve_games(&batch, {team}, {threads}, {team});
        return report[0];
    }}
    """
    program = tmp_path / "races"
    options = (f"-DWARP_LANES={lanes}", "-fsanitize=thread", "-g", "-O1")
    host.build(host_source() + main, program, *options)
    finished = subprocess.run([program], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("n", [1, 8, 32, 33, 40, 129])
def test_the_device_finds_what_the_cpu_finds(n: int) -> None:
    layout, scores = Layout(mf.kappa, (0, n), (n, 9)), torch.linspace(-1, 1, n + 9, dtype=torch.float64)
    here, there = solve_games(layout, scores), solve_games(layout, scores.cuda())
    assert torch.allclose(here.bounds, there.bounds.cpu(), atol=1e-6)
    assert torch.equal(here.report[:, 0], there.report[:, 0].cpu())


def test_the_source_for_cuda_has_nothing_of_the_host() -> None:
    assert "#include" not in cuda_source()
    assert sys.platform == "win32" or "std::" not in cuda_source()

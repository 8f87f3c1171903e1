"""Which format AITER itself quantises activations to, for every release, activation, gate mode and batch size."""

import pytest
from packaging.version import Version

import aiter_compat as ac
from aiter_compat.quirks import activation_format

SMALL, MIDDLE, LARGE = 8, 300, 600  # below 256, between 256 and 512, above 512


def chosen(release, activation="swiglu", gate_mode="separated", tokens=LARGE, **changed) -> str:
    arguments = {"quant_type": "per_1x32", "weights": "mxfp4", "arch": "gfx950"} | changed
    version = None if release is None else Version(release)
    choice = activation_format(version=version, activation=activation, gate_mode=gate_mode, tokens=tokens, **arguments)
    return choice.format


# v0.1.13, .post1, v0.1.14 and v0.1.20.post1 were run at these sizes, the others read from their source.
SWIGLU_SEPARATED = {
    "0.1.9": ("none", "none", "fp8_cast"),
    "0.1.12.post2": ("none", "none", "fp8_cast"),
    "0.1.13.dev0": ("none", "fp8_cast", "fp8_cast"),
    "0.1.13rc2": ("none", "fp8_cast", "fp8_cast"),
    "0.1.13": ("none", "fp8_cast", "fp8_cast"),
    "0.1.13.post1": ("none", "none", "fp8_cast"),
    "0.1.14": ("none", "mxfp4", "mxfp4"),
    "0.1.14rc0": ("none", "mxfp4", "mxfp4"),
    "0.1.15.post3": ("none", "mxfp4", "mxfp4"),
    "0.1.16.post6": ("none", "mxfp4", "mxfp4"),
    "0.1.17": ("none", "mxfp4", "mxfp4"),
    "0.1.20.post1": ("none", "mxfp4", "mxfp4"),
    None: ("none", "mxfp4", "mxfp4"),
}
INTERLEAVED = {
    "0.1.14": ("none", "fp8_cast", "fp8_cast"),  # fp8 with unit scales, as before; block scales came with v0.1.15
    "0.1.14.post1": ("none", "fp8_cast", "fp8_cast"),
    "0.1.15": ("none", "mxfp8", "mxfp8"),
    "0.1.15.post3": ("none", "mxfp8", "mxfp8"),
    "0.1.20.post1+rocm7.2": ("none", "mxfp8", "mxfp8"),
    None: ("none", "mxfp8", "mxfp8"),
}


@pytest.mark.parametrize(("release", "formats"), SWIGLU_SEPARATED.items())
def test_swiglu_separated(release, formats):
    assert tuple(chosen(release, tokens=tokens) for tokens in (SMALL, MIDDLE, LARGE)) == formats


@pytest.mark.parametrize("activation", ["swiglu", "silu", "gelu"])
@pytest.mark.parametrize(("release", "formats"), INTERLEAVED.items())
def test_interleave_takes_every_activation_alike(release, formats, activation):
    assert tuple(chosen(release, activation, "interleave", tokens) for tokens in (SMALL, MIDDLE, LARGE)) == formats


@pytest.mark.parametrize("tokens", [SMALL, MIDDLE, LARGE])
@pytest.mark.parametrize("activation", ["silu", "gelu"])
@pytest.mark.parametrize("release", SWIGLU_SEPARATED)
def test_silu_and_gelu_separated_are_mxfp4_at_any_size(release, activation, tokens):
    assert chosen(release, activation, tokens=tokens) == "mxfp4"


@pytest.mark.parametrize(
    ("release", "bound"), [("0.1.12", 512), ("0.1.13", 256), ("0.1.13.post1", 512), ("0.1.14", 256), (None, 256)]
)
def test_the_bound_itself_is_quantised(release, bound):
    assert chosen(release, tokens=bound - 1) == "none"
    assert chosen(release, tokens=bound) != "none"


def test_no_tokens_at_all():
    assert chosen("0.1.15.post3", tokens=0) == "none"


@pytest.mark.parametrize(
    ("release", "gate_mode", "formats"),
    [
        ("0.1.13", "separated", ("none", "none", "none")),
        ("0.1.14", "interleave", ("none", "none", "none")),
        ("0.1.14", "separated", ("none", "mxfp4", "mxfp4")),  # this one has no check of the architecture
    ],
)
def test_another_architecture(release, gate_mode, formats):
    sizes = (SMALL, MIDDLE, LARGE)
    assert tuple(chosen(release, "swiglu", gate_mode, tokens, arch="gfx942") for tokens in sizes) == formats


class TestGfx1250:
    @pytest.mark.parametrize("activation", ["silu", "swiglu", "situv2"])
    @pytest.mark.parametrize("gate_mode", ["separated", "interleave"])
    def test_everything_is_mxfp4_from_0_1_17_on(self, activation, gate_mode):
        assert chosen("0.1.20", activation, gate_mode, SMALL, arch="gfx1250") == "mxfp4"
        assert chosen("0.1.16", "swiglu", gate_mode, SMALL, arch="gfx1250") == "none"

    def test_or_mxfp8_by_aiters_switch(self, monkeypatch):
        monkeypatch.setenv("AITER_FORCE_A8W4", "1")
        assert chosen("0.1.20", "silu", arch="gfx1250") == "mxfp8"
        assert chosen("0.1.20", "silu", arch="gfx950") == "mxfp4"


class TestSitu:
    def test_bf16_at_any_size(self):
        for release in ("0.1.19", "0.1.19.post1", "0.1.20.post1", None):
            assert chosen(release, "situv2") == "none"

    def test_interleave_comes_first_in_0_1_19_only(self):
        assert chosen("0.1.19", "situv2", "interleave") == "mxfp8"
        assert chosen("0.1.19", "situv2", "interleave", SMALL) == "none"
        assert chosen("0.1.19.post1", "situv2", "interleave") == "none"

    @pytest.mark.parametrize(
        ("variable", "release", "format"),
        [
            ("AITER_SITUV2_A8W4", "0.1.19", "mxfp8"),
            ("AITER_SITUV2_A8W4", "0.1.20", "mxfp8"),
            ("AITER_SITUV2_A4W4", "0.1.19", "none"),
            ("AITER_SITUV2_A4W4", "0.1.19.post1", "mxfp4"),
        ],
    )
    def test_aiters_switches(self, monkeypatch, variable, release, format):  # noqa: A002
        monkeypatch.setenv(variable, "1")
        assert chosen(release, "situv2", tokens=SMALL) == format

    def test_a8_wins_over_a4_and_anything_but_1_is_off(self, monkeypatch):
        monkeypatch.setenv("AITER_SITUV2_A4W4", "1")
        monkeypatch.setenv("AITER_SITUV2_A8W4", "1")
        assert chosen("0.1.20", "situv2") == "mxfp8"
        monkeypatch.setenv("AITER_SITUV2_A8W4", "yes")
        ac.refresh()
        assert chosen("0.1.20", "situv2") == "mxfp4"


class TestWeights:
    def test_mxfp8_weights_are_an_arm_of_their_own_from_0_1_16_post1_on(self):
        assert chosen("0.1.16.post1", weights="mxfp8", tokens=SMALL) == "mxfp8"
        assert chosen(None, "silu", weights="mxfp8") == "mxfp8"

    @pytest.mark.parametrize(("release", "weights"), [("0.1.16", "mxfp8"), ("0.1.20", "int4"), ("0.1.20", "mxfp6")])
    def test_a_format_without_a_rule_stays_unquantised_and_says_so(self, release, weights):
        choice = activation_format(
            version=Version(release),
            activation="silu",
            gate_mode="separated",
            quant_type="per_1x32",
            weights=weights,
            tokens=LARGE,
        )
        assert (choice.format, weights in choice.reason) == ("none", True)


@pytest.mark.parametrize(
    ("quant_type", "format"),
    [
        ("no", "none"),
        ("per_token", "fp8_token"),
        ("per_tensor", "fp8_tensor"),
        ("per_1x128", "fp8_1x128"),
        ("per_128x128", "fp8_1x128"),
    ],
)
def test_other_quant_types(quant_type, format):  # noqa: A002
    assert chosen("0.1.15", quant_type=quant_type, weights="fp8") == format


class TestBoundsFromTheEnvironment:
    @pytest.mark.parametrize(
        ("variable", "release", "gate_mode"),
        [
            ("AITER_BF16_FP8_BOUND", "0.1.13.post1", "separated"),
            ("GPTOSS_SWIGLU_MXFP4_BF16_BOUND", "0.1.15.post3", "separated"),
            ("AITER_BF16_FP8_MOE_BOUND", "0.1.15.post3", "interleave"),
        ],
    )
    def test_each_variable_moves_its_own_bound(self, monkeypatch, variable, release, gate_mode):
        before = chosen(release, "swiglu", gate_mode, 600)
        assert before != "none"
        monkeypatch.setenv(variable, "601")
        assert chosen(release, "swiglu", gate_mode, 600) == before, "the variable is read once"
        ac.refresh()
        assert chosen(release, "swiglu", gate_mode, 600) == "none"
        assert chosen(release, "swiglu", gate_mode, 601) == before

    def test_the_name_of_another_release_moves_nothing(self, monkeypatch):
        monkeypatch.setenv("AITER_BF16_FP8_MOE_BOUND", "10000")  # the variable was renamed for v0.1.14
        assert chosen("0.1.13.post1", tokens=600) == "fp8_cast"
        monkeypatch.setenv("AITER_BF16_FP8_BOUND", "10000")
        ac.refresh()
        assert chosen("0.1.13", tokens=300) == "fp8_cast"  # hard-coded there

    def test_what_is_no_number_is_an_error_that_names_the_variable(self, monkeypatch):
        monkeypatch.setenv("GPTOSS_SWIGLU_MXFP4_BF16_BOUND", "many")
        with pytest.raises(ac.SettingsError, match="GPTOSS_SWIGLU_MXFP4_BF16_BOUND='many'"):
            chosen("0.1.15")


def test_the_reason_says_what_decided():
    small = activation_format(
        version=Version("0.1.15"),
        activation="swiglu",
        gate_mode="separated",
        quant_type="per_1x32",
        weights="mxfp4",
        tokens=SMALL,
    )
    assert small.reason == "AITER leaves activations unquantised below 256 tokens"

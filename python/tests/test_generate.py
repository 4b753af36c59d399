"""Prefill and decode steps of models that are called as those of Hugging Face are, made here without any framework; a real model is
in tests/e2e/test_profile_python.py."""

import pytest

from neurolens._generate import GenerateAnnotation


class Tensor:
    def __init__(self, *shape):
        self.shape = shape


class Cache:
    def __init__(self):
        self.length = 0

    def get_seq_length(self):
        return self.length


class Hook:
    def __init__(self, hooks, hook):
        self.hooks, self.hook = hooks, hook
        hooks.append(hook)

    def remove(self):
        self.hooks.remove(self.hook)


class Module:
    """Calls its hooks as torch.nn.Module does."""

    def __init__(self):
        self.before, self.behind = [], []

    def register_forward_pre_hook(self, hook, with_kwargs):
        assert with_kwargs
        return Hook(self.before, hook)

    def register_forward_hook(self, hook, always_call):
        assert always_call
        return Hook(self.behind, hook)

    def __call__(self, *args, **kwargs):
        for hook in self.before:
            hook(self, args, kwargs)
        try:
            return self.forward(*args, **kwargs)
        finally:
            for hook in self.behind:
                hook(self, args, None)

    def forward(self, input_ids=None, past_key_values=None, **_):
        if input_ids is None:
            raise ValueError("nothing to read")
        if isinstance(past_key_values, Cache):
            past_key_values.length += input_ids.shape[1]


class Model(Module):
    def generate(self, inputs, steps=3, cache=True, chunk=None):
        batch, prompt = inputs.shape
        kept = Cache() if cache else None
        for begin in range(0, prompt, chunk or prompt):
            self(input_ids=Tensor(batch, min(chunk or prompt, prompt - begin)), past_key_values=kept)
        for step in range(steps):
            self(input_ids=Tensor(batch, 1 if cache else prompt + step + 1), past_key_values=kept)
        return steps


class Seen(list):
    def open_scope(self, name, attributes):
        self.append((name, attributes))
        return lambda: self.append("end")

    def scopes(self):
        assert self.count("end") * 2 == len(self), "each has ended"
        return [entry for entry in self if entry != "end"]


@pytest.fixture
def seen():
    return Seen()


def prefill(batch, tokens):
    return ("LLM@prefill", {"batch": batch, "tokens": tokens})


def step(number, batch, tokens=1):
    return ("LLM@decode_step", {"step": number, "batch": batch, "tokens": tokens})


def test_the_prompt_then_tokens(seen):
    model = Model()
    with GenerateAnnotation(model, seen.open_scope):
        assert model.generate(Tensor(2, 7)) == 3
        model.generate(Tensor(1, 5), steps=1)
    assert seen.scopes() == [prefill(2, 7), step(0, 2), step(1, 2), step(2, 2), prefill(1, 5), step(0, 1)]


def test_a_prompt_in_chunks(seen):
    model = Model()
    with GenerateAnnotation(model, seen.open_scope):
        model.generate(Tensor(2, 7), chunk=3, steps=1)
    assert seen.scopes() == [prefill(2, 3), prefill(2, 3), prefill(2, 1), step(0, 2)]


def test_without_a_cache_all_is_read_again(seen):
    model = Model()
    with GenerateAnnotation(model, seen.open_scope):
        model.generate(Tensor(2, 7), cache=False, steps=2)
    assert seen.scopes() == [prefill(2, 7), step(0, 2, 8), step(1, 2, 9)]


def test_a_loop_of_ones_own(seen):
    """Without ``generate`` the cache tells, in any of its forms."""
    model, cache = Module(), Cache()
    layers = ((Tensor(2, 4, 7, 16), Tensor(2, 4, 7, 16)),)
    with GenerateAnnotation(model, seen.open_scope):
        model(Tensor(2, 7))
        model(input_ids=Tensor(2, 7), past_key_values=cache)
        model(input_ids=Tensor(2, 1), past_key_values=cache)
        model(input_ids=Tensor(2, 1), past_key_values=layers)
    later = ("LLM@decode_step", {"batch": 2, "tokens": 1})
    assert seen.scopes() == [prefill(2, 7), prefill(2, 7), later, later]


def test_a_call_that_fails_ends_its_scope(seen):
    model = Model()
    with GenerateAnnotation(model, seen.open_scope):
        with pytest.raises(ValueError):
            model()
        model.generate(Tensor(1, 4), steps=0)
    assert seen.scopes() == [("LLM@prefill", {}), prefill(1, 4)]


def test_an_encoder_reads_the_prompt(seen):
    class Config:
        is_encoder_decoder = True

    class Translator(Module):
        config = Config()

        def __init__(self):
            super().__init__()
            self.encoder = Module()

        def get_encoder(self):
            return self.encoder

        def forward(self, input_ids=None, past_key_values=None, decoder_input_ids=None, encoded=None, **_):
            if encoded is None:
                self.encoder(input_ids)

        def generate(self, inputs):
            self.encoder(inputs)
            for _ in range(2):
                self(decoder_input_ids=Tensor(inputs.shape[0], 1), encoded=True)

    model = Translator()
    with GenerateAnnotation(model, seen.open_scope):
        model.generate(Tensor(2, 7))
        assert seen.scopes() == [prefill(2, 7), step(0, 2), step(1, 2)]
        seen.clear()
        model(input_ids=Tensor(2, 7), decoder_input_ids=Tensor(2, 1))
    assert seen.scopes() == [prefill(2, 1)], "as a whole"


def test_it_is_removed_without_a_trace(seen):
    model = Model()
    annotation = GenerateAnnotation(model, seen.open_scope)
    annotation.remove()
    annotation.remove()
    model.generate(Tensor(2, 7))
    assert not seen and not model.before and not model.behind and "generate" not in vars(model)

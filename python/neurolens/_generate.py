"""Which call of a language model is prefill and which a decode step, without any framework."""

import threading
from typing import Any, Callable, Optional

PREFILL = "LLM@prefill"
DECODE_STEP = "LLM@decode_step"


def tokens_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Optional[int], Optional[int]]:
    """Sequences and tokens of each that a call gets; None where its arguments do not tell."""
    for name in ("decoder_input_ids", "input_ids", "inputs_embeds", "decoder_inputs_embeds"):
        given = kwargs.get(name)
        if given is None and name == "input_ids" and args:
            given = args[0]
        shape = getattr(given, "shape", None)
        if shape is not None and len(shape) >= 2:
            return int(shape[0]), int(shape[1])
    return None, None


def cached_tokens(kwargs: dict[str, Any]) -> int:
    """What the cache holds before a call; caches are tuples of layers or objects that say it."""
    cache = kwargs.get("past_key_values")
    if cache is None:
        return 0
    length = getattr(cache, "get_seq_length", None)
    if length is not None:
        return int(length())
    try:
        return int(cache[0][0].shape[-2])
    except (IndexError, KeyError, TypeError, AttributeError):
        return 1 if cache else 0


class Phases:
    """The calls of one ``generate``: prefill until the prompt is read, decode steps from then on."""

    def __init__(self, prompt: Optional[int] = None, is_encoded: bool = False) -> None:
        """``prompt``: tokens of it, if they are known; ``is_encoded``: an encoder reads it, so that every call decodes."""
        self.prompt = prompt
        self.read = 0
        self.calls = 0
        self.steps = 0
        self.is_encoded = is_encoded

    def take(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Name and attributes of the next call."""
        batch, tokens = tokens_of(args, kwargs)
        attributes = {key: value for key, value in (("batch", batch), ("tokens", tokens)) if value is not None}
        if self.calls == 0:
            self.read = cached_tokens(kwargs)
        is_prefill = not self.is_encoded and (self.calls == 0 or (self.prompt is not None and self.read < self.prompt))
        self.calls += 1
        self.read += tokens or 0
        if is_prefill:
            return PREFILL, attributes
        self.steps += 1
        return DECODE_STEP, {"step": self.steps - 1, **attributes}


def phase_of_a_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The same for a call of a loop of one's own: without a cache, or with an empty one, it is prefill."""
    phases = Phases()
    name, attributes = phases.take(args, kwargs)
    if cached_tokens(kwargs) == 0:
        return name, attributes
    return DECODE_STEP, attributes


class GenerateAnnotation:
    """Hooks around the calls of a model and around its ``generate``, until ``remove()``."""

    def __init__(self, model: Any, open_scope: Callable[[str, dict[str, Any]], Callable[[], None]]) -> None:
        """``open_scope`` begins a scope on this thread and gives what ends it."""
        self._model = model
        self._open_scope = open_scope
        self._here = threading.local()
        self._hooks = [
            model.register_forward_pre_hook(self._begin, with_kwargs=True),
            model.register_forward_hook(lambda *_: self._end(), always_call=True),
        ]
        self._is_encoded = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
        if self._is_encoded and hasattr(model, "get_encoder"):
            encoder = model.get_encoder()
            self._hooks.append(encoder.register_forward_pre_hook(self._begin_encoder, with_kwargs=True))
            self._hooks.append(encoder.register_forward_hook(lambda *_: self._end(), always_call=True))
        self._generate = getattr(model, "generate", None)
        if self._generate is not None:
            model.generate = self._generated

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self._generate is not None:
            del self._model.generate
            self._generate = None

    def __enter__(self) -> "GenerateAnnotation":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    def _generated(self, *args: Any, **kwargs: Any) -> Any:
        """``generate`` itself, which may call itself for a part of its work."""
        assert self._generate is not None
        given = args[0] if args else kwargs.get("inputs")
        _, prompt = tokens_of((given,), kwargs)
        outer = getattr(self._here, "phases", None)
        self._here.phases = Phases(prompt, self._is_encoded)
        try:
            return self._generate(*args, **kwargs)
        finally:
            self._here.phases = outer

    def _begin(self, _module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        phases = getattr(self._here, "phases", None)
        self._push(*(phases.take(args, kwargs) if phases is not None else phase_of_a_call(args, kwargs)))

    def _begin_encoder(self, _module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Inside of a call of the model it is a part of that."""
        batch, tokens = tokens_of(args, kwargs)
        attributes = {key: value for key, value in (("batch", batch), ("tokens", tokens)) if value is not None}
        self._push(None if self._open else PREFILL, attributes)

    def _push(self, name: Optional[str], attributes: dict[str, Any]) -> None:
        self._open.append(self._open_scope(name, attributes) if name is not None else None)

    def _end(self) -> None:
        if self._open:
            end = self._open.pop()
            if end is not None:
                end()

    @property
    def _open(self) -> list[Optional[Callable[[], None]]]:
        if not hasattr(self._here, "open"):
            self._here.open = []
        open_scopes: list[Optional[Callable[[], None]]] = self._here.open
        return open_scopes

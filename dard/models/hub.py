"""Fetches a repository of the Hugging Face hub into the local cache, without any of its code.

Every way this can fail has one sentence. Knows nothing of what is in a checkpoint.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from dard.core.errors import InputError
from dard.models.progress import Tell, fetching

FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")  # weights, configs, tokenizers; never *.py
PICKLES = ("pytorch_model*.bin",)  # weights of an older repository, of which only tensors will be read


def download(hub: str, tell: Tell | None = None) -> Path:
    """The local folder of a hub repository, fetched if it is not there yet; `tell` hears how far it is."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        watched = {} if tell is None else {"tqdm_class": fetching(tell)}
        folder = Path(snapshot_download(hub, allow_patterns=list(FILES), **watched))
        if not any(folder.glob("*.safetensors")):
            folder = Path(snapshot_download(hub, allow_patterns=list(PICKLES), **watched))
        return folder
    except GatedRepoError:
        raise InputError(
            f"model {hub!r} is gated; accept its terms at https://huggingface.co/{hub} "
            "and log in with `hf auth login`, or choose a model that is open"
        ) from None
    except RepositoryNotFoundError:
        raise InputError(
            f"there is no repository {hub!r} on the hub, or it is private; allowed are names from "
            "`python -m dard models`, a folder, or a hub id of the form owner/name"
        ) from None
    except (LocalEntryNotFoundError, ConnectionError, TimeoutError):
        raise InputError(unreachable(hub)) from None
    except HTTPError as error:
        if not isinstance(error, HfHubHTTPError):  # the server did not answer at all
            raise InputError(unreachable(hub)) from None
        raise InputError(other_reason(hub, error)) from None
    except OSError as error:
        raise InputError(other_reason(hub, error)) from None


def unreachable(hub: str) -> str:
    return (
        f"the hub cannot be reached and model {hub!r} is not on this machine yet; "
        "check the network, or give a folder with the checkpoint"
    )


def other_reason(hub: str, error: Exception) -> str:
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return f"model {hub!r} could not be fetched from the hub: {first[:200]}"


def sizes(hub: str) -> tuple[int, int]:
    """Bytes that fetching a repository takes, and how many weights it says it holds (0: it does not say)."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError

    try:
        info = HfApi().model_info(hub, files_metadata=True)
    except (HfHubHTTPError, HTTPError, OSError) as error:
        answered = isinstance(error, HfHubHTTPError)
        raise InputError(other_reason(hub, error) if answered else unreachable(hub)) from None
    files = {each.rfilename: each.size or 0 for each in info.siblings or []}
    safe = any(name.endswith(".safetensors") for name in files)
    patterns = FILES if safe else (*FILES, *PICKLES)
    taken = sum(size for name, size in files.items() if any(fnmatch(name, pattern) for pattern in patterns))
    return taken, int(info.safetensors.total) if info.safetensors else 0

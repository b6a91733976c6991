"""Decompress parts of a bag, never into more memory than they may need."""

from __future__ import annotations

import lz4.frame
import zstandard

from reward_learning_ros.recording.bag_errors import BagError

# A chunk or a message is rarely more than a few megabytes. What claims more is damaged, or made to
# fill the memory: a thousandth of it can be enough in the file.
MAX_BYTES = 2**28


def decompressed(compression: str, data: bytes, size: int) -> bytes:
    """Return what was compressed; of something that was cut off, what comes before the cut.

    Args:
        compression: `zstd`, `lz4`, or empty for none.
        data: As it is in the file.
        size: How many bytes it is said to become.

    Raises:
        BagError: It is damaged, compressed in an unknown way, or becomes more than it says or than
            is allowed.
    """
    if compression not in ('', 'lz4', 'zstd'):
        raise BagError(f'chunk is compressed with {compression!r}; known: lz4, zstd')
    if not compression:
        return data
    if size > MAX_BYTES:
        raise BagError(f'chunk would have {size} bytes, at most {MAX_BYTES} are allowed')
    try:
        # One byte more than it should have shows whether it has more.
        if compression == 'zstd':
            content = zstandard.ZstdDecompressor().stream_reader(data).read(size + 1)
        else:
            content = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
    except (zstandard.ZstdError, RuntimeError) as error:
        raise BagError(f'chunk cannot be decompressed: {error}') from error
    if len(content) > size:
        raise BagError(f'chunk has more than the {size} bytes that it says')
    return bytes(content)


def decompressed_message(data: bytes) -> bytes:
    """Return a message that was compressed with zstd by itself.

    Raises:
        BagError: It cannot be decompressed, or becomes more than is allowed.
    """
    try:
        size = zstandard.frame_content_size(data)
        if size > MAX_BYTES:
            raise BagError(f'a compressed message has more than {MAX_BYTES} bytes')
        # What was compressed as a stream does not say how large it is.
        limit = MAX_BYTES if size < 0 else size
        content = zstandard.ZstdDecompressor().stream_reader(data).read(limit + 1)
    except zstandard.ZstdError as error:
        raise BagError(f'a compressed message is damaged: {error}') from error
    if len(content) > limit:
        raise BagError(f'a compressed message has more than {limit} bytes')
    if not content or len(content) < size:
        raise BagError('a compressed message is damaged: it is cut off')
    return bytes(content)

"""The adapters there are."""

from typing import NamedTuple

from . import _texpool


class Adapter(NamedTuple):
    """A GPU, or a driver that stands in for one. `device=` takes its name, part of that, or its PCI address."""

    name: str
    #: `Vulkan`, `Metal` or `Dx12`.
    backend: str
    #: `DiscreteGpu`, `IntegratedGpu`, `Cpu`, ...
    kind: str
    #: The driver and its version.
    driver: str
    #: Its address on the PCI bus, such as `0000:01:00.0`, which tells two of one name apart; empty where it has none.
    pci_bus_id: str
    #: The largest extent of a texture.
    max_texture_extent: int


def list_adapters() -> list[Adapter]:
    """Every adapter there is; none where no driver is installed."""
    return [Adapter(*adapter) for adapter in _texpool.list_adapters()]

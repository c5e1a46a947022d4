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
    #: Name and version of the driver.
    driver: str
    #: PCI bus address, such as `0000:01:00.0`, which distinguishes adapters with the same name; empty if there isn't
    #: one.
    pci_bus_id: str
    #: Maximum extent of a texture.
    max_texture_extent: int


def list_adapters() -> list[Adapter]:
    """Every adapter there is; none where no driver is installed."""
    return [Adapter(*adapter) for adapter in _texpool.list_adapters()]

"""What is in the package."""

import importlib.metadata
import inspect
import unittest
from pathlib import Path

import onnxruntime_ep_texpool as package

import onnxruntime

from support import devices, off, on_cpu, register, small, values


class Package(unittest.TestCase):
    def test_the_library_is_there_and_named(self) -> None:
        self.assertTrue(Path(package.get_library_path()).is_file())
        self.assertEqual(package.get_ep_names(), [package.get_ep_name()])

    def test_it_depends_on_nothing(self) -> None:
        metadata = importlib.metadata.metadata("onnxruntime-ep-texpool")
        self.assertIsNone(metadata.get_all("Requires-Dist"))
        self.assertEqual(metadata["Version"], importlib.metadata.version("onnxruntime-ep-texpool"))

    def test_it_has_types(self) -> None:
        self.assertTrue((Path(package.__file__).parent / "py.typed").is_file())
        for name in package.__all__:
            self.assertIn("return", inspect.get_annotations(getattr(package, name)), name)

    def test_the_one_line_of_the_readme(self) -> None:
        register()
        providers = [(package.get_ep_name(), {"budget": "4MiB"}), "CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(small(), providers=providers, enable_fallback=0)
        self.assertEqual(session.get_providers()[0], package.get_ep_name())
        feed = values(session)
        self.assertLessEqual(off(session.run(None, feed), on_cpu(small()).run(None, feed)), 1)
        with self.assertRaisesRegex(Exception, "option `budget`"):
            providers = [(package.get_ep_name(), {"budget": "much"}), "CPUExecutionProvider"]
            onnxruntime.InferenceSession(small(), providers=providers, enable_fallback=0)

    def test_the_device_says_what_it_is(self) -> None:
        register()
        (device,) = devices()
        self.assertEqual(device.ep_vendor, "texpool")
        self.assertEqual(device.ep_metadata["version"], importlib.metadata.version("onnxruntime-ep-texpool"))
        self.assertTrue(device.ep_metadata["adapter"])
        self.assertIn(device.ep_options["adapter"], (device.ep_metadata["adapter"], device.ep_metadata["pci_bus_id"]))


if __name__ == "__main__":
    unittest.main()

"""The reader in torch: the same network as the ONNX file, and back."""

import numpy as np
import onnxruntime
import pytest

from palestra import model_cards

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
shipped = pytest.mark.skipif(not model_cards.is_there("eye_reader"), reason="needs the weights of eye_reader")


def run(content, pictures):
    return onnxruntime.InferenceSession(content).run(["logits", "facts"], {"pictures": pictures})


@shipped
def test_weights_come_out_of_onnx_and_go_back_as_they_were():
    from palestra.eyes.reader.torch_network import from_onnx, to_onnx

    content = model_cards.weights("eye_reader")
    pictures = np.random.default_rng(0).normal(size=(3, 1, 200, 320)).astype(np.float32)
    expected = run(content, pictures)
    network = from_onnx(content)
    with torch.no_grad():
        found = network(torch.from_numpy(pictures))
    for told, wanted in zip(found, expected, strict=True):
        assert np.abs(told.numpy() - wanted).max() < 1e-3
    for told, wanted in zip(run(to_onnx(network), pictures), expected, strict=True):
        assert np.abs(told - wanted).max() < 1e-3


def test_a_network_that_was_trained_with_normalisation_comes_back_too():
    from palestra.eyes.reader.torch_network import Reader, from_onnx, to_onnx

    torch.manual_seed(1)
    network = Reader((8, 8, 16))
    with torch.no_grad():
        network(torch.randn(4, 1, 200, 320))  # in training: statistics are of these pictures
    pictures = torch.randn(2, 1, 200, 320)
    again = from_onnx(to_onnx(network))
    with torch.no_grad():
        for told, wanted in zip(again(pictures), network.eval()(pictures), strict=True):
            assert (told - wanted).abs().max() < 1e-3

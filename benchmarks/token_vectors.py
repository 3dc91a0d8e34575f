"""`python -m benchmarks.token_vectors NAME FOLDER`: a late-interaction model from one that was trained for a vector a text.

Its token vectors as they are, without the untrained projection that sentence-transformers would add.
"""

from __future__ import annotations

import sys

from corpuscope.models import local_model


def main(name: str, folder: str) -> None:
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    from sentence_transformers.sentence_transformer.modules import Normalize

    whole = local_model(lambda library: library.MultiVectorEncoder, name)
    normalised = Normalize(module_input_name="token_embeddings")
    MultiVectorEncoder(modules=[whole[0], MultiVectorMask(), normalised]).save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])

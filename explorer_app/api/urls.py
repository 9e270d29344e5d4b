"""URLs of other explorers' APIs, and those of the Beacon API that Anvil has. They come before those of the pages, which have no paths in common with them."""

from django.urls import URLPattern, path, re_path

from explorer_app.api import beacon, etherscan, sourcify


def _sourcify(prefix: str) -> list[URLPattern]:
    return [
        path(f"{prefix}v2/verify/<str:chain>/<str:address>", sourcify.verify_view),
        path(f"{prefix}v2/verify/metadata/<str:chain>/<str:address>", sourcify.metadata_view),
        path(f"{prefix}v2/verify/similarity/<str:chain>/<str:address>", sourcify.similar_view),
        path(f"{prefix}v2/verify/<str:key>", sourcify.job_view),
        path(f"{prefix}v2/contract/all-chains/<str:address>", sourcify.all_chains_view),
        path(f"{prefix}v2/contract/<str:chain>/<str:address>", sourcify.contract_view),
        path(f"{prefix}v2/contracts/<str:chain>", sourcify.contracts_view),
        path(f"{prefix}check-all-by-addresses", sourcify.check_all_view),
        path(f"{prefix}repo-ui/<str:chain>/<str:address>", sourcify.page_view),
        path(f"{prefix}contracts/full_match/<str:chain>/<str:address>/", sourcify.page_view),
    ]


of_every_chain: list[URLPattern] = [
    re_path(r"^api/?$", etherscan.api, name="api"),
    re_path(r"^v2/api/?$", etherscan.api_v2, name="api-v2"),
]
"""The paths that each EVM chain has; the others select a chain by its chain ID."""

urlpatterns: list[URLPattern] = [
    *of_every_chain,
    path("v2/chainlist", etherscan.chains),
    path("solcversions", etherscan.compilers),
    path("eth/v1/beacon/blobs/<str:block_id>", beacon.get_blobs),
    path("eth/v1/beacon/blob_sidecars/<str:block_id>", beacon.refuse_sidecars),
    path("eth/v1/beacon/genesis", beacon.get_genesis),
    *_sourcify(""),
    *_sourcify("server/"),
]

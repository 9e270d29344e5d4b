"""The files among which an EVM chain finds its genesis, in the data directory and by the settings."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from cchain_app.config import fork_named
from cchain_app.evm.select import select_trie
from cchain_app.first_block import first_block
from cchain_app.genesis import Genesis, built_in_text, load_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.local_genesis import OLD_NAME, LocalChoices, without_coins_of_zero
from cchain_app.rules.port import BlockFormat
from cchain_app.settings import EvmSettings
from cchain_app.store import chain as stored
from chaindb.database import Database
from primitives.evm import Hash
from primitives.networks import LOCAL
from primitives.settings import CommonSettings
from primitives.whole_files import write_whole

_NETWORKS: Final = {1: "mainnet", 5: "testnet"}


class GenesisSource:
    """The genesis files of one chain.

    Args:
        node: The settings that the apps of a node share.
        settings: The settings of the chain.
        db: The database with the chain's rows.
        given: Returns the genesis file that the chain was given; None: the settings choose the file.
        block_format: The format of the chain's blocks.
    """

    def __init__(
        self,
        node: CommonSettings,
        settings: EvmSettings,
        db: Database,
        given: Callable[[], bytes] | None,
        block_format: BlockFormat,
    ) -> None:
        self._node = node
        self._settings = settings
        self._db = db
        self._given = given
        self._format = block_format

    @property
    def is_local(self) -> bool:
        """Whether the chain uses the local genesis file because no other file is given."""
        named = self._given is not None or self._settings.genesis
        return not (named or self.fetched.exists() or self._node.network_id in _NETWORKS)

    @property
    def fetched(self) -> Path:
        """Path of a genesis file that was fetched from other nodes."""
        return Path(self._node.directory) / "genesis" / "cchain.json"

    @property
    def kept(self) -> Path:
        """Path of the stored genesis file with which a local chain began."""
        return Path(self._node.directory) / "cchain_genesis.json"

    @property
    def choices(self) -> LocalChoices:
        """The settings for a local chain that begins."""
        local = self._settings.local
        return LocalChoices(
            hardfork=fork_named(local.hardfork) or "",
            gas_limit=local.gas_limit,
            base_fee=local.base_fee,
            min_base_fee=self._settings.min_base_fee,
            timestamp=local.timestamp,
            number=local.genesis_number,
            create2_deployer=local.create2_deployer,
            transaction_gas_limit=local.tx_gas_limit,
            block_gas_limit=local.block_gas_limit,
            code_size_limit=local.code_size_limit or None,
            memory_limit=local.memory_limit or None,
            warp=local.warp,
        )

    def named(self) -> bytes | None:
        """Return the genesis file of a chain that is not local, None for a local chain.

        A chain that was given a file uses that one. Else the first of these: the file that NODE_GENESIS names,
        the file fetched from other nodes of the network, the file that comes with the node.
        """
        if self._given is not None:
            return self._given()
        if self._settings.genesis:
            return Path(self._settings.genesis).read_bytes()
        if self.fetched.exists():
            return self.fetched.read_bytes()
        network = _NETWORKS.get(self._node.network_id)
        return None if network is None else built_in_text(network)

    def read(self, text: bytes, *, is_development: bool) -> Genesis:
        """Return the genesis of a chain with Ethereum's blocks from its file and the settings.

        Args:
            text: The file.
            is_development: Whether this node alone decides the chain's blocks.

        Raises:
            GenesisFileError: The file cannot be used.
        """
        found = load_genesis(
            text, min_base_fee=self._settings.min_base_fee, may_have_number=is_development
        )
        has_blobs = self._node.network_id == LOCAL and not self._node.votes
        config = replace(found.config, free_base_fee=is_development, blob_transactions=has_blobs)
        if self._settings.chain_id:
            config = replace(config, chain_id=self._settings.chain_id)
        return replace(found, config=config)

    def of_local_chain(self, new: bytes, old: bytes, *, is_fork: bool) -> bytes:
        """Return a local chain's genesis file: the one that the stored chain started with, else a new chain's.

        The hash of the first block identifies the file, among the file that was kept at the first start, the one that the
        settings give now, and those of older versions. If none matches, the new one is returned, and the start rejects
        it.

        Unspecified: a stored chain keeps its hard fork, gas limit and base fee, whatever values the settings name
        now; the start reports the differences (`services.genesis.remarks`).

        Args:
            new: The file with which a new chain begins, by the settings.
            old: The file with which version 0.1.0 would have begun one.
            is_fork: Whether the chain is a fork, whose first block is not that of its genesis file.

        Raises:
            DatabaseError: The stored chain cannot be read.
        """
        kept = [self.kept.read_bytes()] if self.kept.exists() else []
        if is_fork:
            return kept[0] if kept else new
        began = stored.first_block(self._db)
        if began is None:
            return new
        for text in (*kept, *_written(new), *_written(old), built_in_text(OLD_NAME)):
            if self._makes(text, *began):
                return text
        return new

    def keep(self, text: bytes) -> None:
        """Keep the genesis file of a new local chain for later starts.

        Raises:
            OSError: It cannot be written.
        """
        write_whole(self.kept, text)

    def _makes(self, text: bytes, block_hash: Hash, timestamp: int) -> bool:
        """Return whether a genesis file gives this first block; the timestamp is used if the file leaves it open."""
        try:
            genesis = load_genesis(text, may_have_number=True)
        except GenesisFileError:
            return False
        if not genesis.timestamp:
            genesis = genesis.with_timestamp(timestamp)
        trie = select_trie(self._settings.engine)
        return first_block(trie, genesis, self._format)[0].hash == block_hash


def _written(text: bytes) -> tuple[bytes, bytes]:
    """Return a local genesis file, and the same as older versions wrote it."""
    return text, without_coins_of_zero(text)

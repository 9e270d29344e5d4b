// @avalabs/avalanchejs 4 against the node: the scenarios of `platform.mjs`.
import * as library from 'avalanchejs4'
import { asking, connecting } from './avalanchejs.mjs'
import { crossing } from './crossing.mjs'
import { exchanging } from './exchange.mjs'
import { scenarios } from './platform.mjs'

const { TransferableOutput, pvm } = library

const paid = ({ amount, to, threshold }, { avaxAssetID }) =>
  [TransferableOutput.fromNative(avaxAssetID, amount, to, 0n, threshold)]

const builders = {
  transfer: (terms, context) =>
    pvm.newBaseTx(context, terms.from, terms.utxos, paid(terms, context)),

  exported: (terms, context) =>
    pvm.newExportTx(
      context, terms.destination ?? context.cBlockchainID, terms.from, terms.utxos,
      paid(terms, context),
    ),

  createSubnet: (terms, context) =>
    pvm.newCreateSubnetTx(
      context, terms.utxos, terms.from, terms.owners, {}, terms.owners.length,
    ),

  addSubnetValidator: (terms, context) =>
    pvm.newAddSubnetValidatorTx(
      context, terms.utxos, terms.from, terms.nodeID, terms.start, terms.end, terms.weight,
      terms.subnetID, terms.authority,
    ),

  createChain: (terms, context) =>
    pvm.newCreateBlockchainTx(
      context, terms.utxos, terms.from, terms.subnetID, terms.name, terms.vmID, [], terms.genesis,
      terms.authority,
    ),

  transferSubnetOwnership: (terms, context) =>
    pvm.newTransferSubnetOwnershipTx(
      context, terms.utxos, terms.from, terms.subnetID, terms.authority, terms.heirs, {},
      terms.heirs.length,
    ),

  removeSubnetValidator: (terms, context) =>
    pvm.newRemoveSubnetValidatorTx(
      context, terms.utxos, terms.from, terms.nodeID, terms.subnetID, terms.authority,
    ),

  addValidator: (terms, context) =>
    pvm.newAddPermissionlessValidatorTx(
      context, terms.utxos, terms.from, terms.nodeID, terms.primary, terms.start, terms.end,
      terms.weight, terms.rewards, terms.rewards, terms.shares, {}, 1, 0n, terms.publicKey,
      terms.proof,
    ),

  addDelegator: (terms, context) =>
    pvm.newAddPermissionlessDelegatorTx(
      context, terms.utxos, terms.from, terms.nodeID, terms.primary, terms.start, terms.end,
      terms.weight, terms.rewards,
    ),
}

export const {
  transfer, exported, together, subnet, handedOver, staking, stakersNow, paged, spentTwice,
} = scenarios(connecting(library, builders))

export const context = asking(library)

const importToP = (terms, context) =>
  pvm.newImportTx(
    context, terms.source ?? context.cBlockchainID, terms.utxos, terms.from, terms.from,
  )

export const crossed = crossing(library, connecting(library, builders), importToP)

export const exchanged = exchanging(library, connecting(library, builders), importToP)

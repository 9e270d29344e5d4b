// @avalabs/avalanchejs 5 against the node: the scenarios of `platform.mjs`.
import * as library from 'avalanchejs5'
import { asking, connecting } from './avalanchejs.mjs'
import { crossing } from './crossing.mjs'
import { exchanging } from './exchange.mjs'
import { scenarios } from './platform.mjs'

const { TransferableOutput, pvm } = library

/** The parameters that all transactions share. */
const common = ({ utxos, from, feeState }) => ({ utxos, fromAddressesBytes: from, feeState })

const controlled = (terms) => ({
  ...common(terms), subnetId: terms.subnetID, subnetAuth: terms.authority,
})

const staked = (terms) => ({
  ...common(terms),
  nodeId: terms.nodeID,
  subnetId: terms.primary,
  start: terms.start,
  end: terms.end,
  weight: terms.weight,
  rewardAddresses: terms.rewards,
})

const paid = ({ amount, to, threshold }, { avaxAssetID }) =>
  [TransferableOutput.fromNative(avaxAssetID, amount, to, 0n, threshold)]

export const builders = {
  transfer: (terms, context) =>
    pvm.newBaseTx({ ...common(terms), outputs: paid(terms, context) }, context),

  exported: (terms, context) =>
    pvm.newExportTx({
      ...common(terms),
      outputs: paid(terms, context),
      destinationChainId: terms.destination ?? context.cBlockchainID,
    }, context),

  createSubnet: (terms, context) =>
    pvm.newCreateSubnetTx({
      ...common(terms), subnetOwners: terms.owners, threshold: terms.owners.length,
    }, context),

  addSubnetValidator: (terms, context) =>
    pvm.newAddSubnetValidatorTx({
      ...controlled(terms),
      nodeId: terms.nodeID,
      start: terms.start,
      end: terms.end,
      weight: terms.weight,
    }, context),

  createChain: (terms, context) =>
    pvm.newCreateChainTx({
      ...controlled(terms),
      chainName: terms.name,
      vmId: terms.vmID,
      fxIds: [],
      genesisData: terms.genesis,
    }, context),

  transferSubnetOwnership: (terms, context) =>
    pvm.newTransferSubnetOwnershipTx({
      ...controlled(terms), subnetOwners: terms.heirs, threshold: terms.heirs.length,
    }, context),

  removeSubnetValidator: (terms, context) =>
    pvm.newRemoveSubnetValidatorTx({ ...controlled(terms), nodeId: terms.nodeID }, context),

  addValidator: (terms, context) =>
    pvm.newAddPermissionlessValidatorTx({
      ...staked(terms),
      delegatorRewardsOwner: terms.rewards,
      shares: terms.shares,
      publicKey: terms.publicKey,
      signature: terms.proof,
    }, context),

  addDelegator: (terms, context) => pvm.newAddPermissionlessDelegatorTx(staked(terms), context),
}

export const {
  transfer, exported, together, subnet, handedOver, staking, stakersNow, paged, spentTwice,
} = scenarios(connecting(library, builders))

export const context = asking(library)

const importToP = (terms, context) =>
  pvm.newImportTx({
    ...common(terms),
    sourceChainId: terms.source ?? context.cBlockchainID,
    toAddressesBytes: terms.from,
  }, context)

export const crossed = crossing(library, connecting(library, builders), importToP)

export const exchanged = exchanging(library, connecting(library, builders), importToP)

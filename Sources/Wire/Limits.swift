// Protocol/limits.md lists the same numbers; a test compares them.

/// All limits of the program. Sizes are in bytes. The name of a duration includes its unit.
package enum Limits {
  // MARK: Format: a change set that exceeds these limits is invalid everywhere.
  package static let setBytesMax = 256 * 1024
  package static let setEntriesMax = 1_000
  package static let setItemsMax = 20_000
  package static let depthMax = 8
  package static let textBytesMax = 64 * 1024
  package static let blobBytesMax = 48 * 1024
  package static let dependenciesMax = 64
  package static let slotBytesMore = 36
  package static let logBytesMax: UInt64 = 4_611_686_018_427_387_904

  // MARK: Content
  package static let inlineBytesMax = 32 * 1024
  package static let attachmentBytesMax = 16 * 1024 * 1024
  package static let otherKeysBytesMax = 16 * 1024
  package static let settingsKeysMax = 1_024
  package static let settingsBytesMax = 1024 * 1024
  package static let appsMax = 16
  package static let appKindsMax = 32
  package static let appFieldsMax = 64
  package static let appWordsMax = 64
  package static let appParentsMax = 4
  package static let knownKindsMax = 64
  package static let knownFieldsMax = 1_024
  package static let schemasReadMax = 256
  package static let appNameBytesMax = 100
  package static let schemaNameBytesMax = 40

  // MARK: Files of other applications
  package static let importBytesMax = 256 * 1024 * 1024
  package static let exportBytesMax = 256 * 1024 * 1024
  package static let importRowsMax = 2_000_000
  package static let importFilesMax = 10_000
  package static let importColumnsMax = 1_024
  package static let calendarDepthMax = 8
  package static let calendarLineBytesMax = 24 * 1024 * 1024
  package static let loopVersionMax = 25
  package static let foreignDatabaseSecondsMax = 120
  package static let calendarZoneRulesMax = 1_000

  // MARK: Channel
  package static let frameBytesMax = 65_535
  package static let messageBytesMax = 1024 * 1024
  package static let preambleMillisecondsMax: Int64 = 3_000
  package static let handshakeMillisecondsMax: Int64 = 5_000
  package static let simultaneousMillisecondsMax: Int64 = 10_000
  package static let handshakeBytesMax = 8 * 1024
  package static let connectionsMax = 64
  package static let handshakesMax = 256
  package static let unrecognizedMax = 256
  package static let acceptQueueMax = 512
  package static let connectionsPerAddressMax = 4
  package static let connectionsPerSiteMax = 8
  package static let connectionsPerNetworkMax = 16
  package static let idleMillisecondsMax: Int64 = 60_000
  package static let slowBytesPerSecondMin = 1_024
  package static let slowMilliseconds: Int64 = 30_000
  package static let sendBufferBytesMax = 8 * 1024 * 1024
  package static let unsentBytesMax = 256 * 1024
  package static let receiveBufferBytesMax = 4 * 1024 * 1024
  package static let messageBytesLeast = 256
  package static let promptBytesMax = 16 * 1024
  package static let turnBytesBegin = 256 * 1024
  package static let turnBytesMax = 1024 * 1024
  package static let turnMilliseconds: Int64 = 50
  package static let reconnectMillisecondsMin: Int64 = 1_000
  package static let reconnectMillisecondsMax: Int64 = 5 * 60_000
  package static let quickRetriesMax = 3
  package static let quickRetryMilliseconds: Int64 = 250
  package static let askingMillisecondsMax: Int64 = 15 * 60_000
  package static let penaltyMillisecondsMin: Int64 = 10_000
  package static let penaltyMillisecondsMax: Int64 = 24 * 3_600_000
  package static let penalisedMilliseconds: Int64 = 100

  // MARK: Open files
  package static let descriptorsMin = 32
  package static let descriptorsUseful = 1_024
  package static let reservedDescriptors = 8

  // MARK: Circle
  package static let devicesMax = 64
  package static let incarnationsMax = 16
  package static let recordsQuotaBytes: UInt64 = 1024 * 1024 * 1024
  package static let settingsQuotaBytes: UInt64 = 4 * 1024 * 1024
  package static let filesQuotaFactor: UInt64 = 16
  package static let quotaBytesMax: UInt64 = 1024 * 1024 * 1024 * 1024 * 1024
  package static let discardMilliseconds: Int64 = 7 * 24 * 3_600_000
  package static let chainLinksMax = 8
  package static let clockDriftMilliseconds: Int64 = 10 * 60_000
  package static let ticketMilliseconds: Int64 = 10 * 60_000
  package static let ticketsMax = 16
  package static let ticketCharactersMax = 4_096
  package static let ticketMillisecondsMax: Int64 = 3_650 * 24 * 3_600_000
  package static let ticketFailuresMax = 10
  package static let ticketFailuresInAllMax = 100
  package static let ticketFailureMilliseconds: Int64 = 60_000
  package static let codeTriesMax = 3
  package static let codeMillisecondsMax: Int64 = 10 * 60_000
  package static let codeAnnouncementMilliseconds: Int64 = 1_000
  package static let codeSearchMillisecondsMin: Int64 = 2_500
  package static let codeSearchMillisecondsMax: Int64 = 10_000
  package static let codeOffersMax = 16
  package static let statementBytesMax = 64 * 1024
  package static let statementsPerSignerMax = 1_024
  package static let statementsBytesPerSignerMax = 1024 * 1024
  package static let statementsMax = 16_384
  package static let statementsBytesMax = 4 * 1024 * 1024
  package static let revocationRoomBytes = 2 * 1024 * 1024
  package static let withdrawnMax = 256
  package static let branchesMax = 16
  package static let branchProofHeadersMax = 32
  package static let branchProofBytesMax = 256 * 1024
  package static let branchProofRoomBytes = 8 * 1024 * 1024
  package static let rebuildShare: Int64 = 10
  package static let nameBytesMax = 64
  package static let addressBytesMax = 128
  package static let addressesMax = 16
  package static let introductionBytesMax = 6 * 1024
  package static let purchaseTokenBytesMax = 16 * 1024
  package static let purchaseTokenDepthMax = 16
  package static let purchasesPerSignerMax = 16
  package static let purchaseConfirmMilliseconds: Int64 = 24 * 3_600_000
  package static let purchaseAheadMilliseconds: Int64 = 10 * 60_000
  package static let purchaseTrustMilliseconds: Int64 = 35 * 24 * 3_600_000
  package static let purchaseRefreshMilliseconds: Int64 = 28 * 24 * 3_600_000
  package static let introductionEntitlementsMax = 4
  /// The latest time that fits into the 48 bits of a clock.
  package static let timeMillisecondsMax: Int64 = 281_474_976_710_655

  // MARK: Gossip
  package static let headsPerMessageMax = 8_192
  package static let headsMax = 32_768
  package static let wantsMax = 1_024
  package static let earlyTipsMax = 8
  package static let overQuotaLogsMax = 1_024
  package static let overQuotaTipsMax = 16
  package static let overQuotaRestMax: UInt64 = 32
  package static let statementsAnswerBytesMax = 2 * 1024 * 1024
  package static let newStatementPointsMax = 65_536
  package static let newStatementMessagePoints = 1_024
  package static let statementIDsMilliseconds: Int64 = 1_000
  package static let redundantPointsMax = 65_536
  package static let pointsPerSecond = 256
  package static let brokenPromiseMilliseconds: Int64 = 10 * 60_000
  package static let overdueMilliseconds: Int64 = 20_000
  package static let patienceMilliseconds: Int64 = 60_000
  package static let pushToAllPeersMax = 8
  package static let ownHeadsMillisecondsMin: Int64 = 20
  package static let ownHeadsMillisecondsMax: Int64 = 5_000
  package static let ownSetsMillisecondsMax: Int64 = 60_000
  package static let valueSetsMax = 256
  package static let valueSlotsMax = 4_096
  package static let valueBytesMax = 768 * 1024
  package static let valueReadBytesMax = 4 * 1024 * 1024
  package static let valueOverdueMilliseconds: Int64 = 20_000
  package static let valueAgainMilliseconds: Int64 = 3_600_000
  package static let valuesWantedMax = 4_096

  // MARK: Files
  package static let fileBytesMax = 1024 * 1024 * 1024
  package static let leafBytes = 64 * 1024
  package static let leavesPerRequestMax = 16
  package static let leafHashesPerMessageMax = 1_920
  package static let filesPerMessageMax = 1_024
  package static let leavesRequestedMin = 2
  package static let leavesRequestedBegin = 8
  package static let leavesRequestedMax = 64
  package static let fileRequestsMax = 128
  package static let fileSlicesMax = 4
  package static let filesActiveMax = 128
  package static let activeLeavesMax = 64 * 1024
  package static let filesWantedMax = 4_096
  package static let filesKnownMax = 8_192
  package static let filesRefusedMax = 1_024
  package static let fileOverdueMilliseconds: Int64 = 30_000
  package static let fileIdleMilliseconds: Int64 = 24 * 3_600_000
  package static let fileAnnouncementMilliseconds: Int64 = 200
  package static let trashDaysMax = 3_650
  package static let fileReviewMilliseconds: Int64 = 3_600_000
  package static let fileRetryMilliseconds: Int64 = 5 * 60_000

  // MARK: Discovery
  package static let beaconsPerSecond = 64
  package static let beaconsBurst = 128
  package static let beaconQueueBytesMax = 32 * 1024
  package static let beaconsPerMember = 8
  package static let beaconMemberMilliseconds: Int64 = 2_000
  package static let beaconClockMilliseconds: Int64 = 10 * 60_000
  package static let beaconMillisecondsMin: Int64 = 500
  package static let beaconMillisecondsMax: Int64 = 30_000
  package static let beaconInterfacesMax = 8
  package static let foundServicesMax = 64
  package static let foundAddressesMax = 4
  package static let interfaceMilliseconds: Int64 = 3_000
  package static let lostMilliseconds: Int64 = 3_000

  // MARK: Questions
  package static let answerItemsMax = 4_096
  package static let answerMillisecondsMin: Int64 = 25
  package static let answerMillisecondsMax: Int64 = 10_000
  package static let inventoryRecordsMax = 1_000_000
  package static let inventoryMillisecondsMax: Int64 = 60_000

  // MARK: Control socket
  package static let controlClientsMax = 16
  package static let controlBytesMax = 1024 * 1024
  package static let controlRequestMillisecondsMax: Int64 = 10_000
  package static let controlSendMillisecondsMax: Int64 = 30_000
  /// How often to check that a client that waits for an answer is still connected.
  package static let controlLookMilliseconds = 100
  package static let controlLifeMilliseconds: Int64 = 1_000
  package static let controlSilenceMillisecondsMax: Int64 = 3_000
  package static let controlQueueBytesMax = 32 * 1024 * 1024

  // MARK: Live page
  package static let pageConnectionsMax = 8
  package static let pageHeadBytesMax = 16 * 1024
  package static let pageTargetBytesMax = 256
  package static let pageFieldsMax = 64
  package static let pageBodyBytesMax = 64 * 1024
  package static let pageRequestMillisecondsMax: Int64 = 5_000
  package static let pageResponseMillisecondsMax: Int64 = 60_000
  package static let pageEventMillisecondsMax: Int64 = 5_000
  package static let pageLingerMilliseconds: Int64 = 1_000
  package static let pageHeartbeatMilliseconds: Int64 = 15_000
  package static let pageChangeMilliseconds: Int64 = 100
  package static let pageRetryMilliseconds: Int64 = 2_000
  package static let pageIdleMilliseconds: Int64 = 10 * 60_000
  package static let pageCodesMax = 4
  package static let pageCodeMilliseconds: Int64 = 2 * 60_000
  package static let pageSessionsMax = 8
  package static let pageSessionMilliseconds: Int64 = 12 * 3_600_000
  package static let pageConfirmationsMax = 16
  package static let pageConfirmationMilliseconds: Int64 = 5 * 60_000

  // MARK: Key files
  package static let passphraseBytesMin = 8
  package static let passphraseBytesMax = 1_024
  package static let passphrasePasses = 3
  package static let passphraseMemoryBytes = 256 * 1024 * 1024
  package static let passphrasePassesMax = 8
  package static let passphraseMemoryBytesMax = 512 * 1024 * 1024
  package static let keyFileBytesMax = 4_096
}

// The public types of other modules in this library's API. Each is listed, so that a type of an inner module does not
// become part of the API unnoticed. The built-in kinds of records are in `WaymarkKinds`, what concerns files in
// `WaymarkFiles`, and what a person needs who cares for the data in `WaymarkCare`.

// Records and queries.
@_exported public import struct Model.Changes
@_exported public import enum Model.ColorSchemePreference
@_exported public import struct Model.Condition
@_exported public import struct Model.Coordinate
@_exported public import struct Model.Day
@_exported public import struct Model.Deleted
@_exported public import struct Model.DeletedRecord
@_exported public import enum Model.DisplayZone
@_exported public import struct Model.Identifier
@_exported public import struct Model.Money
@_exported public import struct Model.MoneySummary
@_exported public import struct Model.NumberSummary
@_exported public import struct Model.Profile
@_exported public import struct Model.Query
@_exported public import protocol Model.QueryDate
@_exported public import protocol Model.QueryMoment
@_exported public import protocol Model.QueryNumber
@_exported public import struct Model.QueryOperand
@_exported public import protocol Model.QueryReference
@_exported public import struct Model.QueryTime
@_exported public import protocol Model.QueryValue
@_exported public import protocol Model.Record
@_exported public import struct Model.RecordCounts
@_exported public import struct Model.RecordField
@_exported public import struct Model.RecordFields
@_exported public import struct Model.RecordOrigin
@_exported public import struct Model.RecordReference
@_exported public import struct Model.SearchResult
@_exported public import struct Model.Setting
@_exported public import protocol Model.SettingValue
@_exported public import enum Model.ShownValue
@_exported public import enum Model.StoredSetting
@_exported public import struct Model.TimeSummary
@_exported public import enum Model.TrashDays

// Homes, keys and errors.
@_exported public import struct Home.Home
@_exported public import protocol Home.KeyStore
@_exported public import class Home.Passphrase
@_exported public import struct Home.PassphraseSource
@_exported public import struct Home.WorkProgress
@_exported public import struct Reasons.LocalizableText
@_exported public import struct Reasons.WaymarkError

// Kinds, and the ids of devices and operations.
@_exported public import struct Records.AppSchema
@_exported public import struct Records.RecordKind
@_exported public import struct Wire.CircleID
@_exported public import struct Wire.DeviceKey
@_exported public import struct Wire.DeviceReference
@_exported public import enum Wire.Lane
@_exported public import struct Wire.OperationID

// The circle: founding, joining, inviting, leaving, and the other devices.
@_exported public import struct Enrolment.JoinOperation
@_exported public import struct Enrolment.JoinPreview
@_exported public import struct Enrolment.NewMembership
@_exported public import struct NodeOperations.CodeInvitation
@_exported public import struct NodeOperations.DepartureSummary
@_exported public import struct NodeOperations.Invitation
@_exported public import enum NodeRuntime.MemberRole
@_exported public import struct NodeRuntime.Peer
@_exported public import enum NodeRuntime.PeerState

// Premium, sync, settings and onboarding.
@_exported public import struct ChangeHistory.SettingState
@_exported public import enum NodeOperations.Onboarding
@_exported public import struct NodeRuntime.SyncState
@_exported public import struct Purchases.PurchasePolicy

// Conflicts, undo and erasing.
@_exported public import struct ChangeHistory.Conflict
@_exported public import struct ChangeHistory.UndoSummary
@_exported public import struct NodeOperations.EraseSummary

// Watching, and the state of the node.
@_exported public import enum ChangeHistory.ChangeCause
@_exported public import struct ChangeHistory.OperationChange
@_exported public import struct ChangeHistory.OperationReference
@_exported public import struct ChangeHistory.RecordChange
@_exported public import struct NodeRuntime.NodeLog
@_exported public import enum NodeRuntime.StoreHealth
@_exported public import struct NodeRuntime.WatchCounts

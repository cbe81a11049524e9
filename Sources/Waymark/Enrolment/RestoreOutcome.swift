import JSONDocument
import Replication
import Wire

/// What a restore came to.
struct RestoreOutcome: Sendable {
  let file: String
  let created: Moment
  let from: String
  let circle: CircleID
  let device: DeviceKey
  let name: String
  /// Whether the keys of the home stay.
  let keepsKeys: Bool
  let isAdmitted: Bool
  let founds: Bool
  let changeSets: Int64
  /// Change sets of the backup that are damaged, or build on one that is lost.
  let missing: Int
  let records: Int64
  var loss: PresentStore.Loss?
  /// Where the old store went.
  var aside: String?
  /// Whether there is a backup beside it that can be restored.
  var keepsReadable = false

  func document(isPreview: Bool) -> JSON {
    Waymark.document(
      "restore",
      [
        .init("type", "summary"), .init("preview", .bool(isPreview)), .init("file", .string(file)),
        .init("created", .string(CivilTime.text(created))), .init("from", .string(from)),
        .init("circle", .string(circle.description)), .init("newCircle", .bool(founds)),
        // New keys are made again when it is done in earnest.
        .init("device", isPreview && !keepsKeys ? .null : .string(device.description)),
        .init("name", .string(name)), .init("newKeys", .bool(!keepsKeys)),
        .init("admitted", .bool(isAdmitted)),
        .init("changeSets", .integer(changeSets)), .init("missing", .integer(missing)),
        .init("records", .integer(records)),
        .init("setAside", loss.map { $0.changeSets.map { .integer($0) } ?? .null } ?? .integer(0)),
        .init("keptAt", .text(aside)),
        .init("keptBackup", .text(aside.flatMap { keepsReadable ? $0 + "/store.waymark" : nil })),
        .init("text", .text(loss?.sentence)),
        .init("next", .string(isAdmitted ? "waymark run" : AwaitedAdmission.next.description)),
      ])
  }
}

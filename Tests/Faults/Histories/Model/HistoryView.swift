import Foundation
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkKinds
import Wire

/// What a person sees on a device, as lines in a fixed order: of the model and of a node in the same words.
struct HistoryView {
  private let numbers: [UUID: Int]

  init(_ ids: [UUID]) {
    numbers = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) })
  }

  /// Returns the lines that only one of two views has; nil if they are equal.
  static func difference(_ one: [String], _ other: [String], _ first: String, _ second: String) -> String? {
    let missing = one.filter { !other.contains($0) }.map { "\n  \(first) only: \($0)" }
    let added = other.filter { !one.contains($0) }.map { "\n  \(second) only: \($0)" }
    if missing.isEmpty, added.isEmpty, one.count == other.count { return nil }
    return "different answers" + (missing + added).joined()
  }

  private func line(
    _ kind: String, _ record: String, _ name: String, _ notes: String, in parent: String? = nil,
    isDated: Bool = true, data: String? = nil
  ) -> String {
    "\(kind) \(record)\(parent.map { " in \($0)" } ?? ""): “\(name)” “\(notes)”\(isDated ? "" : ", no date")"
      + (data.map { ", data \($0)" } ?? "")
  }

  // MARK: The model

  func lines(
    of model: HistoryModel, _ device: Int, _ settings: [String: Int], words: [String]
  ) -> [String] {
    var lines: [String] = []
    for record in model.kinds.indices where ![.profile, .setting].contains(model.kinds[record]) {
      guard model.knows(device, record), !model.isGone(record, device) else { continue }
      let parent =
        model.kinds[record].hasParent ? model.parent(of: record, device).map { "\($0)" } ?? "0" : nil
      let text = line(
        "\(model.kinds[record])", "\(record)", text(model, record, .name, device),
        text(model, record, .notes, device),
        in: parent,
        isDated: model.kinds[record] == .lodging
          || model.shown(.init(record: record, field: .rest), device) == .flag(true))
      if model.isVisible(record, device) {
        lines.append(
          text + (model.kinds[record] == .attachment ? ", data \(data(model, record, device))" : ""))
      } else if let above = model.hidden(by: record, device) {
        lines.append("trash: \(text)\(above == record ? "" : " hidden by \(above)")")
      }
    }
    for conflict in model.conflicts(device) {
      lines.append(
        "conflict of \(conflict.record) \(conflict.field?.rawValue ?? "–") \(conflict.reason.rawValue), lost by \(conflict.losers)"
      )
    }
    if case .profile(let name, let zone) = model.shown(
      .init(record: HistoryModel.profile, field: .whole), device)
    {
      lines.append(line("profile", "", name, zone))
    } else {
      lines.append(line("profile", "", "", ""))
    }
    for (key, record) in settings.sorted(by: { $0.key < $1.key }) {
      lines.append("setting \(key): \(text(model, record, .name, device))")
    }
    let visible = model.kinds.indices.filter { model.kinds[$0] == .trip && model.isVisible($0, device) }
    for word in words {
      let found = visible.filter { record in
        let texts = [HistoryModel.Field.name, .notes].map { text(model, record, $0, device).folded }
        return word.folded.split(separator: " ").allSatisfy { part in texts.contains { $0.contains(part) } }
      }
      lines.append("trips with “\(word)”: \(found)")
      lines.append("trips named “\(word)”: \(visible.count { text(model, $0, .name, device) == word })")
    }
    return lines.sorted()
  }

  private func text(
    _ model: HistoryModel, _ record: Int, _ field: HistoryModel.Field, _ device: Int
  ) -> String {
    if case .text(let text) = model.shown(.init(record: record, field: field), device) { text } else { "" }
  }

  private func data(_ model: HistoryModel, _ record: Int, _ device: Int) -> String {
    let content = text(model, record, .data, device)
    guard HistoryModel.isFile(content), !model.files[device].contains(content) else { return content }
    // A node does not tell the model's name of a file that is not there.
    return model.uncertainFiles[device].isEmpty ? "away" : "?"
  }

  // MARK: A node

  func lines(
    of node: Node, devices: [DeviceKey: Int], settings: [String], words: [String],
    uncertain: Set<String> = []
  ) async throws -> [String] {
    var lines = try await records(of: node, uncertain: uncertain)
    for deleted in try await node.deleted(Attachment.self) {
      lines.append(trash(line(deleted.record), deleted.hiddenBy))
    }
    for deleted in try await node.deleted(Trip.self) {
      lines.append(trash(line(deleted.record), deleted.hiddenBy))
    }
    for deleted in try await node.deleted(Lodging.self) {
      lines.append(trash(line(deleted.record), deleted.hiddenBy))
    }
    for deleted in try await node.deleted(Habit.self) {
      lines.append(trash(line(deleted.record), deleted.hiddenBy))
    }
    for conflict in try await node.conflicts() where Self.isCompared(conflict) {
      let losers = conflict.losers.compactMap { devices[$0.device] }.sorted()
      lines.append(
        "conflict of \(number(conflict.record)) \(Self.field(conflict) ?? "–") \(conflict.reason.rawValue), lost by \(losers)"
      )
    }
    for key in settings {
      lines.append("setting \(key): \(try await node.value(of: Setting(key, default: "")))")
    }
    for word in words {
      let found = try await node.records(Trip.all.matching(word)).map { number($0.id.uuid) }
      lines.append("trips with “\(word)”: \(found.compactMap(Int.init).sorted())")
      lines.append("trips named “\(word)”: \(try await node.count(Trip.all.filter(\.name == word)))")
    }
    return lines.sorted()
  }

  /// Whether the model has the conflict too: the rest of a record is one cell there.
  private static func isCompared(_ conflict: Conflict) -> Bool {
    guard conflict.kind != RecordKind(rawValue: "setting") else { return false }
    return field(conflict).map { HistoryModel.Field(rawValue: $0) != nil } ?? true
  }

  /// The name in the model of the field that a conflict is about.
  static func field(_ conflict: Conflict) -> String? {
    switch (conflict.kind.rawValue, conflict.field) {
    case ("habit", "startDate"): HistoryModel.Field.rest.rawValue
    case ("attachment", "fileName"): HistoryModel.Field.name.rawValue
    case ("attachment", "fileDescription"): HistoryModel.Field.notes.rawValue
    case ("attachment", "fileData"): HistoryModel.Field.data.rawValue
    case ("attachment", "parent"): HistoryModel.Field.parent.rawValue
    default: conflict.field
    }
  }

  /// The visible records and the profile.
  ///
  /// - Parameter uncertain: the files that may or may not be on the device.
  func records(of node: Node, uncertain: Set<String> = []) async throws -> [String] {
    let profile = try await node.profile()
    var attachments: [String] = []
    for attachment in try await node.records(Attachment.all) {
      let data = try await data(of: attachment, on: node)
      let isUncertain = data == "away" ? !uncertain.isEmpty : uncertain.contains(data)
      attachments.append(line(attachment) + ", data \(isUncertain ? "?" : data)")
    }
    return try await attachments + node.records(Trip.all).map(line) + node.records(Lodging.all).map(line)
      + node.records(Habit.all).map(line) + [line("profile", "", profile.name, profile.gender)]
  }

  /// The name of an attachment's content, as in the model: an empty text if it was erased.
  private func data(of attachment: Attachment, on node: Node) async throws -> String {
    switch try await node.fileState(of: attachment) {
    case .here: return try FileContent.name(of: try await node.data(of: attachment))
    case .partly, .elsewhere: return "away"
    case .nowhere:
      do {
        let data = try await node.data(of: attachment)
        throw Difference("a file that is nowhere has \(data.count) bytes")
      } catch let error as WaymarkError where error.code == .noContent {
        return "\(error.message)" == "This attachment has no content." ? "" : "away"
      }
    }
  }

  private func number(_ id: UUID) -> String { numbers[id].map { "\($0)" } ?? id.uuidString }

  private func line(_ trip: Trip) -> String {
    line("trip", number(trip.id.uuid), trip.name, trip.notes, isDated: trip.createdDate != nil)
  }

  private func line(_ lodging: Lodging) -> String {
    line(
      "lodging", number(lodging.id.uuid), lodging.name, lodging.notes,
      in: lodging.tripID == .zero ? "0" : number(lodging.tripID.uuid))
  }

  private func line(_ attachment: Attachment) -> String {
    var parent = "0"
    if case .lodging(let lodging)? = attachment.parent { parent = number(lodging.uuid) }
    return line(
      "attachment", number(attachment.id.uuid), attachment.fileName, attachment.fileDescription, in: parent,
      isDated: attachment.createdDate != nil)
  }

  private func line(_ habit: Habit) -> String {
    line("habit", number(habit.id.uuid), habit.name, habit.notes, isDated: habit.startDate != nil)
  }

  private func trash(_ line: String, _ above: RecordReference?) -> String {
    "trash: \(line)\(above.map { " hidden by \(number($0.id))" } ?? "")"
  }
}

extension String {
  /// The text as searches compare it.
  fileprivate var folded: String {
    folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
  }
}

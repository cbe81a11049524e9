import Foundation
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkKinds
import WaymarkTesting

extension HistoryRun {
  /// Attaches a file to a lodging: short data that the record holds, or long data that travels separately.
  mutating func attach(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let lodging = pick(visible([.lodging], device), choices[0]) else { return nil }
    let (name, content) = (word(choices[1]), FileContent.all[choices[2] % FileContent.all.count])
    let attachment = try await node(device).attach(
      FileContent.data(content), named: name, to: .lodging(Lodging.ID(ids[lodging])))
    let record = model.addRecord(.attachment)
    ids.append(attachment.id.uuid)
    let writes: [HistoryModel.Field: HistoryModel.Content] = [
      .life: .flag(true), .name: .text(name), .parent: .record(lodging), .data: .text(content),
      .rest: .flag(true),
    ]
    write(
      device, Dictionary(uniqueKeysWithValues: writes.map { (.init(record: record, field: $0), $1) }),
      as: try await newestOperation(device))
    if HistoryModel.isFile(content) { model.addFile(content, device) }
    return "attaches \(shown(record)) “\(name)” with \(content) to \(lodging)"
  }

  /// Erases the data of an attachment, which erases its earlier values and writes the others again.
  mutating func eraseData(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard let record = pick(known([.attachment], device), choices[0]) else { return nil }
    let (node, attachment) = (node(device), Attachment(id: .init(ids[record])))
    if model.isGone(record, device) {
      try await expectRefusal(.erased) { try await node.eraseData(of: attachment) }
      return "can't erase the data of \(shown(record)) again"
    }
    // Conflicts that no edit can lose are about the data itself.
    if model.conflicts(device).contains(where: { $0.record == record && $0.field != .data }) {
      try await expectRefusal(.conflicts) { try await node.eraseData(of: attachment) }
      return "can't erase the data of \(shown(record)), which has a conflict"
    }
    let id = try await node.eraseData(of: attachment).operation
    var writes: [HistoryModel.Cell: HistoryModel.Content] = [
      .init(record: record, field: .life): .flag(model.isAlive(record, device))
    ]
    for field in [HistoryModel.Field.name, .notes, .parent, .rest] {
      let cell = HistoryModel.Cell(record: record, field: field)
      if model.shown(cell, device) != .null { writes[cell] = model.shown(cell, device) }
    }
    write(device, writes, as: id, erased: [record])
    return "erases the data of \(shown(record))"
  }

  /// Longer than a device pauses before it dials again, because connections may break meanwhile.
  private static let filesTimeout = Duration.seconds(500)

  /// Waits until devices that are connected have the files that they want, if any of them has these.
  func waitForFiles(_ together: [Int]) async throws {
    guard model.kinds.contains(.attachment) else { return }
    for device in together {
      let node = node(device)
      for peer in together where peer != device {
        let key = devices[peer]
        try await circle.during {
          try await node.waitUntilInSync(with: key, lane: .records, timeout: Self.filesTimeout)
        }
      }
    }
  }
}

/// The contents of attachments, by name.
enum FileContent {
  static let short = ["short-a", "short-b"]
  static let all = short + ["long-a", "long-b"]

  /// The name, repeated up to 40 bytes or 80,000 bytes: the latter are two leaves of a file.
  static func data(_ name: String) -> Data {
    let count = HistoryModel.isFile(name) ? 10_000 : 5
    return Data(String(repeating: name + "|", count: count).utf8)
  }

  /// Returns the name of a content; an empty text for no content.
  static func name(of data: Data) throws -> String {
    guard !data.isEmpty else { return "" }
    guard let name = all.first(where: { Self.data($0) == data }) else {
      throw Difference("the bytes of an attachment are none that were attached: \(data.count) bytes")
    }
    return name
  }
}

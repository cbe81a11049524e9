import Foundation
import JSONDocument
import Waymark
import WaymarkCare
import WaymarkFiles
import WaymarkKinds

// Exports of a device are kept, and imported later and elsewhere, as they are or with one row changed by hand.

extension HistoryRun {
  mutating func export(_ device: Int) async throws -> String {
    let document = try JSON.parse(Array(try await node(device).export(as: .json).content))
    // The model has the records that people write in its steps, so the file has these only.
    let keys = ["schema", "exportedAt", "trips", "lodgings", "attachments", "habits", "profiles"]
    let file = model.file(device)
    var rest = JSON.object((document.members ?? []).filter { keys.contains($0.key) })
    if file.profile == nil { rest["profiles"] = nil }
    files.append((rest, file))
    return "exports \(file.rows.count) records"
  }

  mutating func importFile(_ device: Int, _ choices: [Int]) async throws -> String? {
    guard var (document, file) = pick(files.suffix(4), choices[0]) else { return nil }
    // If the profile here was emptied, it is replaced with a time that no step has.
    if model.shown(HistoryModel.wholeProfile, device) == HistoryModel.blankProfile {
      (document["profiles"], file.profile) = (nil, nil)
    }
    let change = choices[1] % 2 == 0 ? "" : try changeRow(&document, &file, choices)
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
    try Data(document.text().utf8).write(to: path)
    defer { try? FileManager.default.removeItem(at: path) }
    let expected = model.import(file, device)
    for summary in [
      try await node(device).importPreview(of: [path]), try await node(device).importFiles([path]),
    ] {
      let found = [summary.added, summary.updated, summary.unchanged, summary.skipped]
      let wanted = [expected.added, expected.updated, expected.unchanged, 0]
      guard found == wanted else {
        throw Difference(
          "\(summary.isPreview ? "the preview" : "the import") says added, updated, unchanged, skipped: \(found) "
            + "instead of \(wanted)")
      }
    }
    model.importFiles(file, device)
    if !expected.writes.isEmpty {
      write(device, expected.writes, as: try await newestOperation(device), time: expected.time)
    }
    return "imports \(file.rows.count) records\(change), \(expected.added) of them new"
  }

  func newestOperation(_ device: Int) async throws -> OperationID? {
    try await node(device).history(limit: 1).first?.id
  }

  /// Changes one row of a file as with a text editor: another name, or other, no or missing notes.
  private func changeRow(_ document: inout JSON, _ file: inout HistoryModel.File, _ choices: [Int]) throws
    -> String
  {
    guard !file.rows.isEmpty else { return "" }
    let index = choices[1] / 2 % file.rows.count
    let record = file.rows[index].record
    let key = "\(model.kinds[record])s"
    guard var rows = document[key]?.array,
      let place = rows.firstIndex(where: { $0["id"]?.string.flatMap(UUID.init) == ids[record] })
    else { throw Difference("the file does not have \(shown(record))") }
    let isAttachment = model.kinds[record] == .attachment
    let (nameKey, notesKey) = isAttachment ? ("fileName", "fileDescription") : ("name", "notes")
    let text: String
    // The first row with a file has its content for the others, so only short contents are changed.
    if isAttachment, choices[2] % 2 == 0, case .text(let old)? = file.rows[index].fields[.data],
      !HistoryModel.isFile(old)
    {
      let content = FileContent.short[choices[3] % FileContent.short.count]
      rows[place]["fileData"] = .string(FileContent.data(content).base64EncodedString())
      document[key] = .array(rows)
      file.rows[index].fields[.data] = .text(content)
      return " with other data of \(shown(record))"
    }
    switch choices[2] % 3 {
    case 0:
      (rows[place][nameKey], text) = (.string(word(choices[3])), "another name")
      file.rows[index].fields[.name] = .text(word(choices[3]))
    case 1:
      let notes = optionalWord(choices[3])
      (rows[place][notesKey], text) = (notes.isEmpty ? .null : .string(notes), "other notes")
      file.rows[index].fields[.notes] = content(notes)
    default:
      (rows[place][notesKey], text) = (nil, "no key for its notes")
      file.rows[index].fields[.notes] = nil
    }
    document[key] = .array(rows)
    return " with \(text) of \(shown(record))"
  }
}

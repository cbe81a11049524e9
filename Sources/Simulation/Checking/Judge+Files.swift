// Protocol/files.md, "Verification", "Who may ask for what", "Who has a file", "What a device keeps"

import SQLite

/// A node's folder of files, as the world shows it to the judge.
package struct FolderView {
  /// The sizes of all files by their names in the folder.
  package let sizes: [String: Int]
  package let content: (String) -> [UInt8]?
  /// Whether operations on the disk have failed since the process started, so that it may lag behind its records.
  package let hasFailed: Bool
  /// The names of the files that the process is making durable. Until that is done, it can't delete them.
  package let finishing: [String]

  package init(
    sizes: [String: Int], hasFailed: Bool, finishing: [String] = [], content: @escaping (String) -> [UInt8]?
  ) {
    (self.sizes, self.hasFailed, self.finishing, self.content) = (sizes, hasFailed, finishing, content)
  }
}

/// What names files at a node, computed from its folded sets.
struct FileNames {
  /// Named by a visible record, or by a sibling.
  var shown: Set<PlainFile> = []
  /// Named by deleted records only: the time of the latest deletion, in milliseconds.
  var trash: [PlainFile: Int64] = [:]
  /// Named by stored sets that are not folded, or by writes that a held erase will take.
  var unfolded: Set<PlainFile> = []
  /// The same, and sets of which this node may lack the values.
  var perhapsUnfolded: Set<PlainFile> = []
  /// The files that winners or siblings name, deleted records included, by the devices that wrote these.
  var authors: [Name32: Set<PlainFile>] = [:]
  /// How many days the files of deleted records are kept; nil forever.
  var retention: Int64? = 30

  /// Whether a folded record names a file.
  func isNamed(_ file: PlainFile) -> Bool { shown.contains(file) || trash[file] != nil }

  /// The ids of everything that may have to stay.
  var ids: Set<Name32> {
    Set(shown.map(\.id)).union(trash.keys.map(\.id)).union(perhapsUnfolded.map(\.id))
  }
}

/// What the judge knows about the files of one node.
final class FileLedger {
  /// The complete files at the last look.
  var complete: Set<PlainFile> = []
  var names = FileNames()
  /// The version of the store from which `names` was computed.
  var version: Int64?
  /// The files that each device has said it has and keeps, after this node last stopped keeping all files.
  var claims: [Name32: Set<PlainFile>] = [:]
  var keepsAll = true
  /// Files of which the world has altered a bit on the disk.
  var altered: Set<Name32> = []
  /// Files of which the world has altered a bit before they were complete. Nodes verify leaves as they arrive and don't
  /// read them again, so such a file may be completed with the altered bit.
  var alteredParts: Set<Name32> = []
  /// Altered files for which the node has told a peer that it does not have them, so that it has noticed.
  var noticed: Set<PlainFile> = []
  /// Whether the disk was replaced by an older copy since the last look.
  var wasReplaced = false
  /// Whether what the node knows about other devices may be older than what the judge knows.
  var hasOldClaims = false
  /// What the node has said since the last look: files that it has, and files of which it has sent a part.
  var saidHere: [(to: String, PlainFile)] = []
  var sentParts: [(to: String, PlainFile)] = []
}

extension Judge {
  /// Reports the content of a file that users may attach.
  package func knows(content: [UInt8]) { knownContents[PlainFile(of: content)] = content }

  /// Reports that the disk of a node has altered a bit of a file.
  package func altered(_ node: String, _ name: String) {
    guard let id = Self.id(inName: name) else { return }
    fileLedger(node).altered.insert(id)
    if name.utf8.contains(UInt8(ascii: ".")) { fileLedger(node).alteredParts.insert(id) }
  }

  func fileLedger(_ node: String) -> FileLedger {
    if let known = fileLedgers[node] { return known }
    let ledger = FileLedger()
    fileLedgers[node] = ledger
    return ledger
  }

  /// A copy of a node has the same files and knows the same about others.
  func clonedFiles(_ node: String, as twin: String) {
    let ledger = fileLedger(node)
    let copy = fileLedger(twin)
    (copy.complete, copy.altered, copy.noticed) = (ledger.complete, ledger.altered, ledger.noticed)
    copy.alteredParts = ledger.alteredParts
    (copy.claims, copy.keepsAll, copy.hasOldClaims) = (ledger.claims, ledger.keepsAll, ledger.hasOldClaims)
  }

  // MARK: Messages

  /// Notes what a node says and sends about files. It is judged after the step.
  func sentFile(_ message: PlainFileMessage, to: String, _ bytes: [UInt8], _ view: NodeView) throws {
    let ledger = fileLedger(view.name)
    switch message {
    case .here(let what, _, let files): if what > 0 { ledger.saidHere += files.map { (to, $0) } }
    case .list(let file): ledger.sentParts.append((to, file))
    case .leaf(let file, let index, let range):
      ledger.sentParts.append((to, file))
      guard let content = knownContents[file] else { break }
      let start = index * PlainFile.leafBytes
      let leaf = content[min(start, content.count)..<min(start + PlainFile.leafBytes, content.count)]
      guard leaf == bytes[range] else {
        throw Violation(.file, view.name, "it sent wrong bytes as leaf \(index) of \(file) to \(to)")
      }
    case .noSuchFile(let file):
      if ledger.altered.contains(file.id), ledger.complete.contains(file) { ledger.noticed.insert(file) }
    case .want: break
    }
  }

  /// Notes what a device says about its files, before a node handles the message.
  func arrivedFile(_ message: PlainFileMessage, from: String, link: UInt64, _ view: NodeView) {
    guard case .here(let what, let keepsAll, let files) = message, what > 0, let device = device(from) else {
      return
    }
    let ledger = fileLedger(view.name)
    if keepsAll {
      ledger.claims[device, default: []].formUnion(files)
    } else if ledgers[view.name]?.hasRoom == true, isOpen(view, from, link) {
      // A message on a closed lane is dropped, and a full disk has no room for what it says.
      ledger.claims[device] = nil
    }
  }

  // MARK: Looks

  /// Checks a node's files after a step, or when it has started and before it does anything.
  ///
  /// - Parameter isStart: whether a new process has just started, so that power may have failed since the last look.
  package func lookedAtFiles(_ node: String, _ folder: FolderView, isStart: Bool = false) throws {
    let view = view(node)
    let ledger = fileLedger(node)
    // Versions of different connections can't be compared.
    if isStart { ledger.version = nil }
    let before = ledger.names
    try readNames(view, ledger)
    let keepsAll = try StoreReader.keepPolicy(view.connection) == nil
    if ledger.keepsAll, !keepsAll { ledger.claims = [:] }
    ledger.keepsAll = keepsAll
    let complete = Self.complete(in: folder)
    let earlier = ledger.complete
    ledger.complete = complete
    defer { (ledger.saidHere, ledger.sentParts, ledger.wasReplaced) = ([], [], false) }
    for file in complete.sorted() where isStart || !earlier.contains(file) {
      if isStart, ledger.altered.contains(file.id) { continue }
      if ledger.alteredParts.remove(file.id) != nil, !isIntact(file, folder) { continue }
      ledger.altered.remove(file.id)
      ledger.noticed.remove(file)
      try checkContent(file, folder, view)
    }
    if !ledger.wasReplaced, !(isStart && folder.hasFailed) {
      for file in earlier.subtracting(complete).sorted() { try checkGone(file, before, ledger, view) }
    }
    if !isStart, !folder.hasFailed, ledgers[node]?.hasRoom == true {
      try checkLeftOver(folder, ledger, view)
    }
    for (to, file) in ledger.saidHere {
      guard complete.contains(file) || earlier.contains(file) else {
        throw Violation(.file, node, "it told \(to) that it has \(file), which it does not have")
      }
    }
    for (to, file) in ledger.sentParts
    where !ledger.names.isNamed(file) && !before.isNamed(file) {
      throw Violation(.file, node, "it sent \(to) a part of \(file), which no folded record names")
    }
  }

  private func checkContent(_ file: PlainFile, _ folder: FolderView, _ view: NodeView) throws {
    guard isIntact(file, folder) else {
      throw Violation(.file, view.name, "the bytes of \(file) do not match its id")
    }
  }

  private func isIntact(_ file: PlainFile, _ folder: FolderView) -> Bool {
    folder.content(Self.name(of: file)).map { PlainFile(of: $0) == file } ?? false
  }

  /// Checks that a node had a reason to delete a file.
  private func checkGone(
    _ file: PlainFile, _ before: FileNames, _ ledger: FileLedger, _ view: NodeView
  ) throws {
    if ledger.altered.contains(file.id) || mayDrop(file, ledger, view) { return }
    // The step may have named the file again after deleting it, or deleted it before it lost another name.
    guard whyKept(file, before, view) != nil, let reason = whyKept(file, ledger.names, view) else { return }
    throw Violation(.file, view.name, "it deleted \(file), \(reason)")
  }

  /// Returns why a file must not be freed; nil if it may be.
  private func whyKept(_ file: PlainFile, _ names: FileNames, _ view: NodeView) -> String? {
    if names.shown.contains(file) { return "which a visible record or a sibling names" }
    if names.unfolded.contains(file) { return "which a set names that is not folded" }
    guard let deletedAt = names.trash[file] else { return nil }
    guard let days = names.retention else { return "which a record in the trash names" }
    let wall = ledgers[view.name]?.wall ?? 0
    let isDue = deletedAt == .min || wall >= deletedAt + days * 86_400_000
    return isDue ? nil : "although its record was deleted less than \(days) days ago"
  }

  /// Whether a keep policy may drop a file: another member has said that it has and keeps the file.
  private func mayDrop(_ file: PlainFile, _ ledger: FileLedger, _ view: NodeView) -> Bool {
    guard !ledger.keepsAll else { return false }
    return ledger.hasOldClaims
      || ledger.claims.contains { device, files in
        files.contains(file) && view.circle?.members.contains(device) != false
      }
  }

  /// Checks that nothing is left of files that nothing names.
  private func checkLeftOver(_ folder: FolderView, _ ledger: FileLedger, _ view: NodeView) throws {
    let ids = ledger.names.ids.union(folder.finishing.compactMap { Self.id(inName: $0) })
    for name in folder.sizes.keys.sorted() {
      guard let id = Self.id(inName: name) else {
        throw Violation(.file, view.name, "an unfinished import is left after its operation: \(name)")
      }
      guard !ids.contains(id) else { continue }
      throw Violation(.file, view.name, "\(name) is still stored although nothing names the file")
    }
  }

  // MARK: Convergence

  /// Describes a file that is missing on a device whose keep policy wants it, although another device has it; nil if
  /// there is none.
  package func misplacedFile(_ nodes: [(name: String, folder: FolderView)]) throws -> String? {
    var holders: [PlainFile: String] = [:]
    var intact: [String: Set<PlainFile>] = [:]
    for (node, folder) in nodes {
      let ledger = fileLedger(node)
      try readNames(view(node), ledger)
      let files = Self.complete(in: folder).filter { file in
        guard ledger.altered.contains(file.id) else { return true }
        return folder.content(Self.name(of: file)).map { PlainFile(of: $0) } == file
      }
      intact[node] = files
      for file in files where ledger.names.isNamed(file) { holders[file] = node }
    }
    for (node, folder) in nodes {
      let ledger = fileLedger(node)
      let limit = try StoreReader.keepPolicy(view(node).connection)
      let named = ledger.names.shown.union(Self.complete(in: folder))
      if let limit, named.reduce(0, { $0 + $1.size }) > limit { continue }
      for file in ledger.names.shown.sorted() where intact[node]?.contains(file) == false {
        // A bit that a disk has altered is noticed when the file is sent or read.
        if Self.complete(in: folder).contains(file), !ledger.noticed.contains(file) { continue }
        if let holder = holders[file], !mayExceedQuotas(file, view(node), ledger.names) {
          return "\(node) has not fetched \(file), which its records name and \(holder) has"
        }
      }
    }
    return nil
  }

  /// Whether each device that names a file may have exhausted its quota of files at a node. Of the other files that it
  /// names, the judge doesn't know which are on their way, so it counts all.
  private func mayExceedQuotas(_ file: PlainFile, _ view: NodeView, _ names: FileNames) -> Bool {
    guard let circle = view.circle else { return false }
    return names.authors.allSatisfy { author, files in
      guard files.contains(file) else { return true }
      let bytes = files.reduce(UInt64(0)) { $0 + UInt64(clamping: $1.size) }
      return author != view.device && bytes > circle.fileBytesMax(of: author, quotas)
    }
  }

  /// Checks the bytes of all files of a node.
  package func checkFiles(_ node: String, _ folder: FolderView) throws {
    let ledger = fileLedger(node)
    for file in Self.complete(in: folder).sorted() where !ledger.altered.contains(file.id) {
      try checkContent(file, folder, view(node))
    }
  }

  // MARK: Names

  private func readNames(_ view: NodeView, _ ledger: FileLedger) throws {
    let version = try view.connection.with("PRAGMA data_version") { try $0.step() ? $0.integer(0) : 0 }
    guard version != ledger.version else { return }
    ledger.version = version
    let expected = Expectations(view, library)
    var names = FileNames()
    for key in library.writes.keys where Self.fileField(key) != nil {
      let record = expected[key]
      for cell in record.cells.values {
        for sibling in cell.siblings { names.shown.formUnion(Self.files(in: sibling, key)) }
        for write in cell.siblings + [cell.winner] {
          let author = library.sets[write.set].header.log.device
          names.authors[author, default: []].formUnion(Self.files(in: write, key))
        }
        for file in Self.files(in: cell.winner, key) {
          if expected.isVisible(key) {
            names.shown.insert(file)
          } else {
            let death = expected.hiding(key)?.cells[0].map {
              Int64(clamping: library.sets[$0.winner.set].header.clock >> 16)
            }
            names.trash[file] = max(names.trash[file] ?? .min, death ?? .min)
          }
        }
      }
    }
    for file in names.shown { names.trash[file] = nil }
    try readUnfolded(view, &names)
    names.retention = retention(expected)
    ledger.names = names
  }

  private func readUnfolded(_ view: NodeView, _ names: inout FileNames) throws {
    let quarantined = try StoreReader.quarantinedIDs(view.connection).compactMap { library.index(of: $0) }
    let unfolded = view.numbers.filter { view[$0] != .folded }
    for set in unfolded + quarantined {
      for entry in library.sets[set].entries {
        guard let file = file(in: set, entry) else { continue }
        names.perhapsUnfolded.insert(file)
        if let slot = entry.slot, view[set] != .absent, view.holds(set, slot: slot) {
          names.unfolded.insert(file)
        }
      }
    }
    for erase in view.heldErases {
      for entry in library.sets[erase].entries where entry.act == .erase {
        for write in library.writes[entry.key] ?? [] where view[write.set] != .absent {
          guard let file = file(in: write.set, library.sets[write.set].entries[write.entry]) else { continue }
          names.perhapsUnfolded.insert(file)
        }
      }
    }
  }

  private func file(in set: Int, _ entry: PlainEntry) -> PlainFile? {
    guard let field = Self.fileField(entry.key), let content = library.values(of: set, entry)[field] else {
      return nil
    }
    return PlainFile(content: Array(content))
  }

  private static func files(in write: PlainCellWrite, _ key: PlainKey) -> [PlainFile] {
    guard let field = fileField(key) else { return [] }
    switch write.content {
    case .life: return []
    case .field(let content): return content.flatMap { PlainFile(content: Array($0)) }.map { [$0] } ?? []
    case .whole(let fields):
      return fields.filter { $0.field == field }.compactMap { part in
        part.content.flatMap { PlainFile(content: Array($0)) }
      }
    }
  }

  /// Returns the setting `trashDays`.
  private func retention(_ expected: Expectations) -> Int64? {
    guard let key = trashDaysKey.flatMap({ Name16($0) }) else { return 30 }
    let record = expected[PlainKey(kind: 8_192, id: key)]
    guard record.life == true, case .field(let content?)? = record.cells[2]?.winner.content,
      let item = try? PlainItem.read(Array(content))
    else { return 30 }
    if item.text(in: Array(content)).map({ Array($0) }) == Array("never".utf8) { return nil }
    return item.integer.flatMap { (1...3_650).contains($0) ? $0 : nil } ?? 30
  }

  /// Returns the field of a record that may name a file; nil if its kind has none.
  private static func fileField(_ key: PlainKey) -> Int? { [7: 9, 4_096: 9][key.kind] }

  // MARK: The folder

  private static func name(of file: PlainFile) -> String { "\("\(file.id)".prefix(2))/\(file.id)" }

  /// Returns the id in the name of a file or of a part of one; nil for other names.
  private static func id(inName name: String) -> Name32? {
    // Reads bytes, not characters: this runs for each file after each step.
    let last = name.utf8.split(separator: UInt8(ascii: "/")).last?.prefix { $0 != UInt8(ascii: ".") }
    guard let last, last.count == 64 else { return nil }
    var words = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
    for digit in last {
      guard let value = Self.value(ofHex: digit) else { return nil }
      words = (
        words.0 << 4 | words.1 >> 60, words.1 << 4 | words.2 >> 60, words.2 << 4 | words.3 >> 60,
        words.3 << 4 | value
      )
    }
    return Name32(words)
  }

  /// The names of files have lower-case digits. A file with any other name is not a complete file.
  private static func value(ofHex digit: UInt8) -> UInt64? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a")) + 10
    default: nil
    }
  }

  private static func complete(in folder: FolderView) -> Set<PlainFile> {
    var files: Set<PlainFile> = []
    for (name, size) in folder.sizes where !name.utf8.contains(UInt8(ascii: ".")) {
      if let id = id(inName: name) { files.insert(PlainFile(id: id, size: size)) }
    }
    return files
  }
}

// Protocol/files.md, "What a device keeps"

extension HistoryModel {
  /// Whether a content is so long that it is a file, which travels separately from its record.
  static func isFile(_ content: String) -> Bool { content.hasPrefix("long") }

  /// The files that records on a device name, in the trash too.
  private func namedFiles(_ device: Int, isWanted: Bool = false) -> Set<String> {
    var found: Set<String> = []
    for record in kinds.indices where kinds[record] == .attachment && knows(device, record) {
      let cell = Cell(record: record, field: .data)
      var contents = siblings(cell, device).map { content($0, cell, held[device]) }
      if !isWanted || isVisible(record, device) { contents.append(shown(cell, device)) }
      for case .text(let text) in contents where Self.isFile(text) { found.insert(text) }
    }
    return found
  }

  /// Adds a file, of which it is certain from then on that it is on the device.
  mutating func addFile(_ content: String, _ device: Int) {
    files[device].insert(content)
    uncertainFiles[device].remove(content)
  }

  /// Removes the files that no record on a device names any more.
  mutating func freeFiles(_ device: Int) {
    files[device].formIntersection(namedFiles(device))
    uncertainFiles[device].formIntersection(namedFiles(device))
  }

  /// Gives the devices that have exchanged records the files that they want and any of them has.
  mutating func exchangeFiles(_ devices: [Int]) {
    let here = devices.reduce(into: Set<String>()) { $0.formUnion(files[$1]) }
    let perhaps = devices.reduce(into: Set<String>()) { $0.formUnion(uncertainFiles[$1]) }
    for device in devices {
      let wanted = namedFiles(device, isWanted: true)
      files[device].formUnion(wanted.intersection(here))
      uncertainFiles[device].formUnion(wanted.intersection(perhaps))
      uncertainFiles[device].subtract(files[device])
      freeFiles(device)
    }
  }

  /// Two devices exchange records that an override changes in the same moment, so a file that one has may be fetched by
  /// the other before it is not wanted any more.
  mutating func passFiles(_ devices: [Int]) {
    let all = devices.reduce(into: Set<String>()) { $0.formUnion(files[$1].union(uncertainFiles[$1])) }
    for device in devices { uncertainFiles[device].formUnion(all.subtracting(files[device])) }
  }

  /// Notes that a device has the contents of an imported file. If it writes none of the records that name one, the model
  /// does not tell whether it is kept.
  mutating func importFiles(_ file: File, _ device: Int) {
    let written = `import`(file, device).writes
    for case (let cell, .text(let text)) in written where cell.field == .data && file.contents.contains(text)
    {
      addFile(text, device)
    }
    uncertainFiles[device].formUnion(file.contents.subtracting(files[device]))
  }
}

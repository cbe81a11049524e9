// Protocol/files.md, "Quotas of files"

package import FileFormat
import RecordTables
import Records
import Replication
import SQLite
package import Wire

extension Store {
  /// Returns the files that records and siblings name, by the device whose write names them. A file may have several such
  /// devices. Records in the trash count: while they can be restored, their files take room.
  ///
  /// All records that can name a file are looked at.
  package func filesByAuthor() throws -> [DeviceKey: Set<FileReference>] {
    let devices = try devicesByBranch()
    var found: [DeviceKey: Set<FileReference>] = [:]
    for (file, number) in try writesOfFiles() {
      if let device = try branch(of: number).flatMap({ devices[$0] }) {
        found[device, default: []].insert(file)
      }
    }
    for (kind, _) in schema.fileFields {
      try connection.with("SELECT field, content, branch FROM siblings WHERE kind = ?1") { row in
        try row.bind(1, Int64(kind.rawValue))
        while try row.step() {
          guard let device = devices[row.integer(2)] else { continue }
          let field = FieldNumber(truncatingIfNeeded: row.integer(0))
          found[device, default: []].formUnion(schema.files(in: row.bytes(1), of: kind, field))
        }
      }
    }
    return found
  }

  /// Returns the files that records name, each with the number of the set that wrote its name.
  private func writesOfFiles() throws -> [(file: FileReference, number: Int64)] {
    var found: [(file: FileReference, number: Int64)] = []
    for kind in schema.kinds {
      for column in kind.fileColumns {
        let sql = """
          SELECT \(column.id), \(column.size), stamps FROM \(kind.table) WHERE \(column.id) IS NOT NULL
          """
        try connection.with(sql) { row in
          while try row.step() {
            guard let id = FileID(bytes: row.bytes(0)), let size = Int(exactly: row.integer(1)),
              let file = FileReference(size: size, id: id)
            else { continue }
            // A whole record has one stamp, that of its life.
            let stamps = try Stamps(packed: row.bytes(2))
            if let number = stamps[column.field] ?? stamps[Fields.life] { found.append((file, number)) }
          }
        }
      }
    }
    return found
  }

  private func branch(of number: Int64) throws -> Int64? {
    try connection.with("SELECT branch FROM change_sets WHERE number = ?1") { row in
      try row.bind(1, number)
      return try row.step() ? row.integer(0) : nil
    }
  }

  private func devicesByBranch() throws -> [Int64: DeviceKey] {
    try connection.with("SELECT branch, device FROM branches") { row in
      var devices: [Int64: DeviceKey] = [:]
      while try row.step() { devices[row.integer(0)] = DeviceKey(bytes: row.bytes(1)) }
      return devices
    }
  }
}

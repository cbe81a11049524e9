// Protocol/files.md, "What a device keeps"

package import FileFormat
import Records
package import Replication
import Wire

/// The fields that can name a file.
package enum FileFields {
  /// Kinds without such a field are missing.
  package static let byKind: [KindNumber: [FieldNumber]] = {
    var found: [KindNumber: [FieldNumber]] = [:]
    for kind in Registry.kinds where !kind.fileColumns.isEmpty {
      found[kind.number] = kind.fileColumns.map(\.field)
    }
    return found
  }()

  /// Returns the file that the content of a field names.
  package static func file(_ content: [UInt8]) -> FileReference? {
    (try? Value(encoded: content[...])).flatMap { FileReference($0) }
  }

  /// Returns the files that the content of a cell names. The content of a whole record is a map of its fields.
  package static func files(in content: [UInt8], of kind: KindNumber, _ field: FieldNumber) -> [FileReference]
  {
    guard let fields = byKind[kind] else { return [] }
    guard kind.mergeClass == .wholeRecord, field == Fields.life else {
      return fields.contains(field) ? [file(content)].compactMap(\.self) : []
    }
    let contents = (try? decodedFields(content)) ?? [:]
    return fields.compactMap { contents[$0].flatMap(file) }
  }
}

/// The columns of a blob field that name a file.
package struct FileColumn {
  package let field: FieldNumber
  package let id: String
  package let size: String
}

extension Kind {
  /// The columns that name files.
  package var fileColumns: [FileColumn] {
    fields.filter { $0.type == .blob }.map {
      FileColumn(field: $0.number, id: $0.columns[1].name, size: $0.columns[2].name)
    }
  }
}

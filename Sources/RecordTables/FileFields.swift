// Protocol/files.md, "What a device keeps"

package import FileFormat
package import Records
package import Replication
import Wire

/// Reads the files that fields name.
package enum FileFields {
  /// Returns the file that the content of a field names.
  package static func file(_ content: [UInt8]) -> FileReference? {
    (try? Value(encoded: content[...])).flatMap { FileReference($0) }
  }
}

extension Schema {
  /// Returns the files that the content of a cell names. The content of a whole record is a map of its fields.
  package func files(in content: [UInt8], of kind: KindNumber, _ field: FieldNumber) -> [FileReference] {
    guard let fields = fileFields[kind] else { return [] }
    guard kind.mergeClass == .wholeRecord, field == Fields.life else {
      return fields.contains(field) ? [FileFields.file(content)].compactMap(\.self) : []
    }
    let contents = (try? decodedFields(content)) ?? [:]
    return fields.compactMap { contents[$0].flatMap(FileFields.file) }
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

// Protocol/records.md, "Content"

package import Replication
package import Wire

/// Cuts bytes that are too long for one field into Content records, and joins Content records again.
package enum Contents {
  /// Returns the value of a `blob` field that holds these bytes, and the Content records that the value refers to.
  package static func cut(_ bytes: [UInt8]) -> (value: Value, records: [RecordDraft]) {
    guard bytes.count > Limits.inlineBytesMax else { return (.bytes(bytes), []) }
    var records: [RecordDraft] = []
    var ids: [Value] = []
    for start in stride(from: 0, to: bytes.count, by: Limits.blobBytesMax) {
      let part = Array(bytes[start..<min(start + Limits.blobBytesMax, bytes.count)])
      let id = RecordID(contentOf: part)
      ids.append(.bytes(id.bytes))
      records.append(RecordDraft(Registry.content, id, [bytesField: .bytes(part)]))
    }
    return (.array(ids), records)
  }

  /// Returns the bytes of a `blob` field. The result is nil if the field is empty, if a Content record is missing (or
  /// has not arrived yet), or if a Content record's id is not the hash of its bytes. It is also nil if the total
  /// exceeds the largest size that a device writes, because a field may refer to one Content record thousands of
  /// times.
  ///
  /// - Parameters:
  ///   - value: the value of the field.
  ///   - part: returns the bytes of a Content record; nil if they are not available.
  package static func join(_ value: Value?, part: (RecordID) throws -> [UInt8]?) rethrows -> [UInt8]? {
    switch value {
    case .bytes(let bytes): return bytes
    case .array(let ids):
      var joined: [UInt8] = []
      for id in ids {
        guard case .bytes(let raw) = id, let record = RecordID(bytes: raw), let bytes = try part(record),
          joined.count + bytes.count <= Limits.attachmentBytesMax, RecordID(contentOf: bytes) == record
        else { return nil }
        joined.append(contentsOf: bytes)
      }
      return joined
    default: return nil
    }
  }

  /// Returns the ids of the Content records that a `blob` field refers to.
  package static func parts(of value: Value?) -> [RecordID] {
    guard case .array(let ids) = value else { return [] }
    return ids.compactMap { id in
      guard case .bytes(let raw) = id else { return nil }
      return RecordID(bytes: raw)
    }
  }

  package static let bytesField: FieldNumber = 1
}

// Protocol/records.md, "Ids"

package import Replication
import Wire

/// Records that exist in every circle, with the same ids.
package enum FixedRecords {
  package static let organization = KindNumbers.known(5)
  package static let profileKind = KindNumbers.known(4_096)
  package static let organizationName: FieldNumber = 1
  /// The organization that means "no organization".
  package static let none = RecordKey(
    kind: organization, id: RecordID(Bytes16(0x7761_796d_6172_6b00, 0x0000_0000_0000_0001)))
  /// The profile.
  package static let profile = RecordKey(
    kind: profileKind, id: RecordID(Bytes16(0x7761_796d_6172_6b00, 0x0000_0000_0000_0002)))

  /// Cells that no write changes: life and name of the organization None, and life of whole records.
  package static func isFixed(_ record: RecordKey, _ field: FieldNumber) -> Bool {
    if record.kind.mergeClass == .wholeRecord { return field == Fields.life }
    return record == none && (field == Fields.life || field == organizationName)
  }
}

public import Platform
import Records
import Replication
import Storage
import Wire

/// A file that belongs to an item of a trip. The value contains the file's name and type, but not its bytes.
///
/// ``Node/attach(_:named:to:)`` creates an attachment, ``Node/data(of:)`` reads its bytes, and
/// ``Node/fileState(of:)`` tells where they are.
public struct Attachment: Record {
  /// The record that an attachment belongs to. The attachment is hidden while that record is hidden.
  public enum Parent: Hashable, Sendable, Codable {
    /// The attachment belongs to a place to stay.
    case lodging(Lodging.ID)
    /// The attachment belongs to a journey from one place to another.
    case transportation(Transportation.ID)
    /// The attachment belongs to an activity.
    case activity(Activity.ID)
  }

  public let id: ID
  /// The item that the attachment belongs to; never nil in a record that was read from the store.
  public var parent: Parent?
  /// The name of the file: at most 1,000 characters, never empty.
  public var fileName = ""
  /// The name that the file originally had.
  public var originalFileName = ""
  /// The size of the file in bytes, at most 1 GiB.
  public var fileSize = 0
  /// The MIME type of the file, such as `application/pdf`.
  public var mimeType = ""
  /// The extension of the file name without the dot, such as `pdf`.
  public var fileExtension = ""
  /// The time when the attachment was added, which is set when it is saved for the first time.
  public var createdDate: Date?
  /// A description of the file, at most 10,000 characters long.
  public var fileDescription = ""
  public var origin = RecordOrigin()

  public init(id: ID) { self.id = id }

  public static let fields = RecordFields<Attachment>(
    Kind.attachment, id: \.id,
    [
      parentField, .text("fileName", \.fileName), .text("originalFileName", \.originalFileName),
      .field("fileSize", \.fileSize, absent: 0), .text("mimeType", \.mimeType),
      .text("fileExtension", \.fileExtension), .field("createdDate", \.createdDate),
      .text("fileDescription", \.fileDescription),
    ])

  private static var parentField: RecordField<Attachment> {
    RecordField(
      name: "parent", read: { $1.parent = Parent($0) }, write: { $0.parent?.value ?? .null },
      parts: [.init(path: \Attachment.parent, index: 1)])
  }
}

extension Attachment.Parent: FieldContent {
  init?(_ value: Value) {
    guard let id = value.part(1).asRecordID else { return nil }
    switch value.part(0).asInteger {
    case Int64(KindNumbers.lodging.rawValue): self = .lodging(Lodging.ID(id))
    case Int64(KindNumbers.transportation.rawValue): self = .transportation(Transportation.ID(id))
    case Int64(KindNumbers.activity.rawValue): self = .activity(Activity.ID(id))
    default: return nil
    }
  }

  var value: Value { .array([.integer(Int64(key.kind.rawValue)), .bytes(key.id.bytes)]) }

  var key: RecordKey {
    switch self {
    case .lodging(let id): RecordKey(kind: KindNumbers.lodging, id: RecordID(id))
    case .transportation(let id): RecordKey(kind: KindNumbers.transportation, id: RecordID(id))
    case .activity(let id): RecordKey(kind: KindNumbers.activity, id: RecordID(id))
    }
  }
}

extension Query<Attachment> {
  /// Returns the query for the attachments of one item.
  public static func of(_ parent: Attachment.Parent) -> Self {
    let field = Kind.attachment.number("parent")
    return Self().filter(
      Condition(
        .all([
          .fixed(.init(field, .equals(.integer(Int64(parent.key.kind.rawValue))))),
          .fixed(.init(field, part: 1, .equals(.blob(parent.key.id.bytes)))),
        ])))
  }
}

public import Foundation
import Records
import Replication
import Storage
import Wire

/// A file that belongs to an item of a trip: its name and type, without its bytes.
///
/// ``Node/attach(_:named:to:)`` creates one, ``Node/data(of:)`` reads its bytes.
public struct Attachment: Record {
  /// The record that an attachment belongs to; the attachment is hidden while it is.
  public enum Parent: Hashable, Sendable {
    /// A place to stay.
    case lodging(Lodging.ID)
    /// A journey from one place to another.
    case transportation(Transportation.ID)
    /// Something to do.
    case activity(Activity.ID)
  }

  public let id: UUID
  /// The item that it belongs to; never nil in a record that was read.
  public var parent: Parent?
  /// At most 1,000 characters; never empty.
  public var fileName = ""
  /// The original name of the file.
  public var originalFileName = ""
  /// In bytes; at most 16 MiB.
  public var fileSize = 0
  /// The MIME type: `application/pdf`.
  public var mimeType = ""
  /// The file name extension without the dot: `pdf`.
  public var fileExtension = ""
  /// When it was added; set when it is saved.
  public var createdDate: Date?
  /// At most 10,000 characters.
  public var fileDescription = ""
  public var origin = RecordOrigin()

  public init(id: UUID) { self.id = id }

  public static let fields = RecordFields<Attachment>(
    Registry.attachment, id: \.id,
    [
      parentField, .text("fileName", \.fileName), .text("originalFileName", \.originalFileName),
      .field("fileSize", \.fileSize, absent: 0), .text("mimeType", \.mimeType),
      .text("fileExtension", \.fileExtension), .field("createdDate", \.createdDate),
      .text("fileDescription", \.fileDescription),
    ])

  private static var parentField: RecordField<Attachment> {
    RecordField(name: "parent", read: { $1.parent = Parent($0) }, write: { $0.parent?.value ?? .null })
  }
}

extension Attachment.Parent: FieldContent {
  init?(_ value: Value) {
    guard let id = UUID(value.part(1)) else { return nil }
    switch value.part(0).asInteger {
    case Int64(KindNumbers.lodging.rawValue): self = .lodging(id)
    case Int64(KindNumbers.transportation.rawValue): self = .transportation(id)
    case Int64(KindNumbers.activity.rawValue): self = .activity(id)
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
  /// The attachments of one item.
  public static func of(_ parent: Attachment.Parent) -> Self {
    let field = Registry.attachment.number("parent")
    return Self().filter(
      Condition(
        .all([
          .fixed(.init(field, .equals(.integer(Int64(parent.key.kind.rawValue))))),
          .fixed(.init(field, part: 1, .equals(.blob(parent.key.id.bytes)))),
        ])))
  }
}

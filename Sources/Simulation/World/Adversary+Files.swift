import Engine
import FileFormat
import Replication
import Storage
import VirtualDisk
import Wire

/// Adversaries that have what they announce, and send something else, or announce what they do not have.
extension World {
  /// Makes an adversary lie about files from now on.
  func lieAboutFiles(_ fault: Fault, _ process: Process) -> Bool {
    let device = process.device
    device.fileLies[fault] = fileRandom.happens(perThousand: 400) ? .max : 1 + fileRandom.below(12)
    guard fault == .falseHolder, let link = fileRandom.pick(process.links.keys.sorted()) else { return true }
    let invented = (0..<fileRandom.logarithmic(1, 300)).compactMap { _ in
      FileReference(
        size: fileRandom.below(1 << 20),
        id: FileID(Bytes32(fileRandom.next(), fileRandom.next(), fileRandom.next(), fileRandom.next())))
    }
    let here = FilesHere(role: .announcement, keepsAll: true, files: invented + named(process))
    process.send(Message.file(.filesHere(here)).encoded, to: link)
    return true
  }

  private func named(_ process: Process) -> [FileReference] {
    Array(((try? process.replicator.store.namedFiles()) ?? []).prefix(500))
  }

  /// Returns the messages to send in place of one about files; nil to send the message unchanged.
  func lies(aboutFiles message: [UInt8], by sender: Device) -> [[UInt8]]? {
    guard !sender.fileLies.isEmpty, message.count > 1, message[0] >> 5 == 4, (16...19).contains(message[1]),
      let process = sender.process, !process.isEnded, fileRandom.happens(perThousand: 400),
      case .file(let truth)? = try? Message(decoding: message),
      let (fault, lies) = lies(insteadOf: truth, sender, process)
    else { return nil }
    sender.fileLies[fault] = sender.fileLies[fault].flatMap { $0 > 1 ? $0 - 1 : nil }
    tally.count("did \(fault)")
    return lies.map { Message.file($0).encoded }
  }

  private func lies(
    insteadOf truth: FileMessage, _ sender: Device, _ process: Process
  ) -> (Fault, [FileMessage])? {
    switch truth {
    case .leafBytes, .leafList, .noSuchFile:
      if sender.fileLies[.withholdLeaf] != nil, fileRandom.happens(perThousand: 500) {
        return (.withholdLeaf, [])
      }
    case .wantLeaves, .filesHere: break
    }
    switch truth {
    case .leafBytes(let leaf) where sender.fileLies[.falseLeaf] != nil:
      return (.falseLeaf, [falseLeaf(leaf)])
    case .leafList(let file, let first, let hashes) where sender.fileLies[.falseList] != nil:
      return (.falseList, falseLists(file, first, hashes))
    case .filesHere(let here) where sender.fileLies[.falseHolder] != nil && here.role == .answer:
      let files = fileRandom.happens(perThousand: 700) ? named(process) : []
      return (
        .falseHolder, [.filesHere(FilesHere(role: .answer, keepsAll: true, files: files))]
      )
    default: return nil
    }
  }

  /// Returns a leaf with a wrong byte, or the bytes of another leaf.
  private func falseLeaf(_ leaf: FileLeaf) -> FileMessage {
    let other = fileRandom.below(leaf.file.leafCount)
    if fileRandom.happens(perThousand: 300), leaf.file.range(ofLeaf: other).count == leaf.bytes.count {
      return .leafBytes(FileLeaf(leaf.file, other, leaf.bytes))
    }
    var bytes = Array(leaf.bytes)
    bytes[fileRandom.below(bytes.count)] ^= 1 << UInt8(fileRandom.below(8))
    return .leafBytes(FileLeaf(leaf.file, leaf.index, bytes[...]))
  }

  private func falseLists(_ file: FileReference, _ first: Int, _ hashes: [Bytes32]) -> [FileMessage] {
    switch fileRandom.below(3) {
    case 0 where hashes.count > 1: return [.leafList(file, first: first, Array(hashes.dropLast()))]
    case 1:
      return [.leafList(file, first: first, hashes), .leafList(file, first: first, hashes)]
    default:
      var wrong = hashes
      wrong[fileRandom.below(wrong.count)] = Bytes32(fileRandom.next(), 0, 0, 0)
      return [.leafList(file, first: first, wrong)]
    }
  }
}

// Protocol/files.md, "Who has a file", "Requests"

import FileFormat
import Wire

/// What the exchange of files knows about one connected peer, and what is being transferred in both directions.
struct FilePeer: Sendable {
  let device: DeviceKey

  /// Whether the peer keeps all files, as it last said.
  var keepsAll = false

  // What the peer has, as far as this device may still want it.
  private var known: Set<FileReference> = []
  /// The known files in the order in which the peer named them, and some that were forgotten since. The oldest are
  /// forgotten first.
  private var knownInOrder = Queue<FileReference>()
  /// The peer's files that are wanted and waiting, those to be requested first at the end.
  private var candidates: [FileReference] = []
  private var isCandidate: Set<FileReference> = []
  /// Files for which the peer is not asked again until this time, because it did not deliver them.
  var avoidedUntil: [FileReference: Moment] = [:]

  // Questions.
  private var question: (files: [(file: FileReference, isRepeated: Bool)], askedAt: Moment)?
  private var toAsk = Queue<(file: FileReference, isRepeated: Bool)>()
  /// Whether the shell is looking up the files that the peer has asked about.
  var isLookingUp = false

  // Requests to the peer, in the order in which they were sent. The peer answers abandoned requests all the same, and
  // before newer ones. So these stay, or their answers would be taken for answers to newer requests with gaps.
  private var sent: [OpenRequest] = []
  /// Leaves that have arrived and are not written to disk yet.
  private var unwritten = 0
  /// The number of leaves that may be requested and not written.
  private(set) var window = Limits.leavesRequestedBegin
  /// When the oldest request became the oldest, or last made progress.
  private(set) var oldestProgressAt: Moment
  /// When anything that was requested last arrived.
  private(set) var arrivedAt: Moment
  /// The shortest time from a request to its first leaf, in milliseconds: that of empty queues.
  private var quickest: Moment?
  /// The average time from one leaf to the next, in microseconds.
  private var pace: Moment = 0
  /// Whether the timer of the peer is pending.
  var isTimerPending = false

  // Requests of the peer.
  private(set) var serving = FileServing()

  init(device: DeviceKey, _ now: Now) {
    self.device = device
    oldestProgressAt = now.steady
    arrivedAt = now.steady
  }

  // MARK: What the peer has

  /// Whether the peer has a file and has not failed to deliver it recently.
  func mayBeAsked(for file: FileReference) -> Bool { known.contains(file) && avoidedUntil[file] == nil }

  /// Whether the peer has said that it has a file.
  func knows(_ file: FileReference) -> Bool { known.contains(file) }

  /// Remembers files that the peer has. If there are too many, forgets the oldest that are not wanted: the peer is asked
  /// about those again when they are. It would not be asked again about a wanted file.
  mutating func note(_ files: [FileReference], isWanted: (FileReference) -> Bool) {
    for file in files where known.insert(file).inserted { knownInOrder.append(file) }
    var kept: [FileReference] = []
    while knownInOrder.count + kept.count > Limits.filesKnownMax, let oldest = knownInOrder.popFirst() {
      if isWanted(oldest), known.contains(oldest) { kept.append(oldest) } else { known.remove(oldest) }
    }
    for file in kept { knownInOrder.append(file) }
  }

  /// Adds wanted files that the peer has.
  mutating func enqueue(_ files: [FileReference], comesFirst: (FileReference, FileReference) -> Bool) {
    let files = files.filter { isCandidate.insert($0).inserted }
    if files.count == 1, let file = files.first {
      let index = candidates.firstIndex { comesFirst($0, file) } ?? candidates.endIndex
      candidates.insert(file, at: index)
    } else if !files.isEmpty {
      candidates += files
      candidates.sort { comesFirst($1, $0) }
    }
  }

  /// Returns the candidate to request first, after dropping those that are no longer eligible.
  mutating func firstCandidate(_ isEligible: (FileReference) -> Bool) -> FileReference? {
    while let last = candidates.last {
      if mayBeAsked(for: last), isEligible(last) { return last }
      candidates.removeLast()
      isCandidate.remove(last)
    }
    return nil
  }

  // MARK: Questions

  /// Whether the peer still has to say which of the files that it is asked about it has.
  var isAsked: Bool { question != nil || toAsk.count > 0 }

  /// Adds files to what the peer is asked about.
  ///
  /// - Parameter isRepeated: whether to ask also about files that the peer is known to have. If there are too many of
  ///   these, the rest is left to the next review.
  mutating func inquire(_ files: [FileReference], isRepeated: Bool) {
    for file in files {
      guard isRepeated ? toAsk.count < Limits.filesKnownMax : !known.contains(file) else { continue }
      toAsk.append((file, isRepeated))
    }
  }

  /// Returns the next files to ask about, unless a question is waiting for its answer.
  mutating func nextQuestion(_ now: Now) -> [FileReference]? {
    if let question {
      guard now.steady >= question.askedAt + Limits.answerMillisecondsMax else { return nil }
      // The answer is late or lost. Without it, the files would never be fetched.
      for file in question.files { toAsk.append(file) }
    }
    question = nil
    var files: [(file: FileReference, isRepeated: Bool)] = []
    while files.count < Limits.filesPerMessageMax, let (file, isRepeated) = toAsk.popFirst() {
      if isRepeated || !known.contains(file) { files.append((file, isRepeated)) }
    }
    guard !files.isEmpty else { return nil }
    question = (files, now.steady)
    return files.map(\.file)
  }

  /// Ends the question that waits for its answer, and returns the files that it asked about; nil if there is none.
  mutating func answered() -> [FileReference]? {
    defer { question = nil }
    return question?.files.map(\.file)
  }

  // MARK: Requests

  /// The requests whose answers are awaited.
  var requests: [OpenRequest] { sent.filter { !$0.isAbandoned } }

  /// The number of leaves that may be requested now.
  var room: Int {
    sent.count < Limits.fileRequestsMax ? window - leavesUnderWay : 0
  }

  /// The number of leaves that were requested and are not written yet.
  var leavesUnderWay: Int { unwritten + sent.reduce(0) { $0 + ($1.isAbandoned ? 0 : $1.leavesLeft) } }

  mutating func add(_ request: LeafRequest, _ now: Now) {
    if requests.isEmpty { oldestProgressAt = now.steady }
    sent.append(OpenRequest(request, now))
  }

  /// Takes a leaf out of the request that it answers.
  ///
  /// - Returns: whether it was requested, and earlier leaves of the same request that the peer has left out.
  mutating func arrived(_ leaf: FileLeaf, _ now: Now) -> (isRequested: Bool, skipped: Range<Int>?) {
    guard let position = sent.firstIndex(where: { $0.awaits(leaf) }) else { return (false, nil) }
    let skipped = sent[position].next..<leaf.index
    let isLate = sent[position].isAbandoned
    if !isLate { adjustWindow(position, now) }
    sent[position].next = leaf.index + 1
    noteProgress(position, now)
    return (true, skipped.isEmpty || isLate ? nil : skipped)
  }

  /// Takes a piece of a list out of the request that it answers.
  ///
  /// - Returns: whether it was requested, and whether its answer is still awaited.
  mutating func arrived(
    _ file: FileReference, first: Int, count: Int, _ now: Now
  ) -> (isRequested: Bool, isAwaited: Bool) {
    guard
      let position = sent.firstIndex(where: {
        $0.file == file && $0.part == .list && $0.next == first && first + count <= $0.end
      })
    else { return (false, false) }
    let isAwaited = !sent[position].isAbandoned
    sent[position].next += count
    noteProgress(position, now)
    return (true, isAwaited)
  }

  private mutating func noteProgress(_ position: Int, _ now: Now) {
    arrivedAt = now.steady
    // The answer to an abandoned request comes first, so until then no newer one can make progress.
    if position <= sent.firstIndex(where: { !$0.isAbandoned }) ?? 0 { oldestProgressAt = now.steady }
    if sent[position].isComplete { sent.remove(at: position) }
  }

  /// Requests as much as keeps the peer busy, and not more: what waits in queues only delays other data, which can't
  /// overtake it everywhere. How long the queues are shows in the time to the first leaf of a request.
  private mutating func adjustWindow(_ position: Int, _ now: Now) {
    let request = sent[position]
    if request.isFirst {
      let passed = now.steady - request.sentAt
      let least = min(quickest ?? passed, passed)
      quickest = least
      if passed - least > Self.queueMilliseconds + Self.queueLeaves * pace / 1_000 {
        sent[position].isSlow = true
        window = max(window - max(window / 8, 1), Limits.leavesRequestedMin)
      }
    }
    // The wait for the first leaf after a pause is not the time that a leaf takes.
    if arrivedAt >= request.sentAt { pace += ((now.steady - arrivedAt) * 1_000 - pace) / 8 }
    if !sent[position].isSlow { window = min(window + 1, Limits.leavesRequestedMax) }
  }

  /// Gives up all requests for a file.
  ///
  /// - Returns: the requests that were given up.
  @discardableResult
  mutating func abandon(_ file: FileReference) -> [OpenRequest] {
    let abandoned = requests.filter { $0.file == file }
    for index in sent.indices where sent[index].file == file { sent[index].isAbandoned = true }
    return abandoned
  }

  /// Removes all requests for a file, because the peer answers none of them any more.
  ///
  /// - Returns: the requests whose answers were awaited; nil if there was no request at all.
  mutating func end(_ file: FileReference) -> [OpenRequest]? {
    let ended = sent.filter { $0.file == file }
    sent.removeAll { $0.file == file }
    return ended.isEmpty ? nil : ended.filter { !$0.isAbandoned }
  }

  mutating func forget(_ file: FileReference) { known.remove(file) }

  /// Ends requests that make no progress. The peer is not asked for these files for a while.
  ///
  /// - Returns: the requests that were removed.
  mutating func giveUp(_ now: Now) -> [OpenRequest] {
    guard let oldest = requests.first, now.steady >= oldestProgressAt + Limits.fileOverdueMilliseconds else {
      return []
    }
    let isSilent = arrivedAt <= oldestProgressAt
    var removed: [OpenRequest] = []
    for file in Set(isSilent ? requests.map(\.file) : [oldest.file]).sorted() {
      avoid(file, now)
      // When the peer is asked again, no late answer is on its way any more.
      removed += end(file) ?? []
    }
    oldestProgressAt = now.steady
    return removed
  }

  mutating func avoid(_ file: FileReference, _ now: Now) {
    // The number is bounded by the files that this device has requested from the peer.
    avoidedUntil[file] = now.steady + Limits.brokenPromiseMilliseconds
  }

  /// Returns the files for which the peer may be asked again.
  mutating func endAvoiding(_ now: Now) -> [FileReference] {
    let ended = avoidedUntil.filter { now.steady >= $0.value }.keys.sorted()
    for file in ended { avoidedUntil[file] = nil }
    return ended
  }

  /// When the timer of the peer is due next, on the steady clock.
  var dueAt: Moment? {
    let overdueAt = requests.isEmpty ? nil : oldestProgressAt + Limits.fileOverdueMilliseconds
    let answerAt = question.map { $0.askedAt + Limits.answerMillisecondsMax }
    return [overdueAt, answerAt, avoidedUntil.values.min()].compactMap { $0 }.min()
  }

  // MARK: Leaves on their way to the disk

  mutating func writing() { unwritten += 1 }
  mutating func written(_ leaves: Int) { unwritten = max(unwritten - leaves, 0) }

  // MARK: Serving

  mutating func serve(_ change: (inout FileServing) -> Void) { change(&serving) }

  /// How long requested leaves may wait in queues: this time, and that in which so many leaves arrive.
  private static let queueMilliseconds: Moment = 8
  private static let queueLeaves: Moment = 4
}

/// A request to a peer of which not everything has arrived.
struct OpenRequest: Sendable {
  let file: FileReference
  let part: FilePart
  let start: Int
  /// The next leaf that is expected.
  var next: Int
  let end: Int
  let sentAt: Moment
  /// Whether the first leaf of this request has waited long in queues.
  var isSlow = false
  /// Whether nothing depends on the answer any more.
  var isAbandoned = false

  init(_ request: LeafRequest, _ now: Now) {
    file = request.file
    part = request.part
    start = request.leaves.lowerBound
    next = start
    end = request.leaves.upperBound
    sentAt = now.steady
  }

  var rest: Range<Int> { next..<end }
  var isFirst: Bool { next == start }
  var isComplete: Bool { next == end }
  var leavesLeft: Int { part == .bytes ? end - next : 0 }

  func awaits(_ leaf: FileLeaf) -> Bool { file == leaf.file && part == .bytes && rest.contains(leaf.index) }
}

/// The requests of a peer, and how much of them is in the shell's hands.
struct FileServing: Sendable {
  private var requests = Queue<(number: Int, request: LeafRequest, next: Int)>()
  private var count = 0
  /// Slices that the shell has not reported yet.
  private var slices = 0
  /// The newest request for each file that was refused while slices of the file were in the shell's hands.
  private var refusedThrough: [FileReference: Int] = [:]

  /// - Returns: false if the peer has sent more requests than it may.
  mutating func receive(_ request: LeafRequest) -> Bool {
    guard requests.count < Limits.fileRequestsMax else { return false }
    count += 1
    requests.append((count, request, request.leaves.lowerBound))
    return true
  }

  /// Returns the next slice to hand to the shell.
  mutating func next() -> FileSlice? {
    guard slices < Limits.fileSlicesMax, let (number, request, next) = requests.first else { return nil }
    let sliceMax = request.part == .bytes ? 1 : Limits.leafHashesPerMessageMax
    let end = min(next + sliceMax, request.leaves.upperBound)
    if end == request.leaves.upperBound {
      requests.popFirst()
    } else {
      requests.setFirst((number, request, end))
    }
    slices += 1
    return FileSlice(request: number, file: request.file, part: request.part, leaves: next..<end)
  }

  /// - Returns: whether the peer is to be told that there is no such file.
  mutating func served(_ slice: FileSlice, isSent: Bool) -> Bool {
    slices = max(slices - 1, 0)
    defer { if slices == 0 { refusedThrough = [:] } }
    guard !isSent, slice.request > refusedThrough[slice.file] ?? 0 else { return false }
    requests.removeAll { $0.request.file == slice.file }
    refusedThrough[slice.file] = count
    return true
  }
}

/// A queue with quick access to its first element.
struct Queue<Element: Sendable>: Sendable {
  private var elements: [Element] = []
  private var start = 0

  var count: Int { elements.count - start }
  var first: Element? { start < elements.count ? elements[start] : nil }

  mutating func append(_ element: Element) { elements.append(element) }

  @discardableResult
  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    start += 1
    if start * 2 > elements.count, start > 16 {
      elements.removeFirst(start)
      start = 0
    }
    return first
  }

  mutating func setFirst(_ element: Element) { elements[start] = element }

  mutating func removeAll(where isRemoved: (Element) -> Bool) {
    elements = elements[start...].filter { !isRemoved($0) }
    start = 0
  }
}

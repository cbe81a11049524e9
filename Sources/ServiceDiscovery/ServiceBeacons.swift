// Protocol/discovery.md, "As DNS services".
//
// Beacons as services of multicast DNS
//
// The system's responder, Bonjour or Avahi, publishes services and finds those of others. It is another process, and
// this file only asks it, over the C interface that both have. Three kinds of requests are open at a time:
//
//   register   one for each beacon of a round: a service with a random name, and the beacon in its TXT record
//   browse     one, for the names of all Waymark services on this machine's networks
//   query      one for each name found: the TXT record, now and whenever it changes
//
// Every request has a descriptor. When it is readable, `DNSServiceProcessResult` calls the request's C function, which
// only stores the answer; the actor handles it afterwards, because a request must not be ended within its own function.
//
// If the responder ends, every request fails. All of them are then ended, and the next round begins again.

#if Bonjour
  import CServiceDiscovery
  import Membership
  import Platform
  package import Transport
  import Wire

  /// Publishes beacons as services, and receives those that others publish.
  package actor ServiceBeacons: BeaconCarrier {
    private nonisolated let executor = QueueExecutor(label: "waymark.services")
    private nonisolated let received: @Sendable ([UInt8], BeaconOrigin) -> Void
    private nonisolated let failed: @Sendable (ServiceError) -> Void
    private nonisolated let random: @Sendable () -> UInt64
    private var requests: [UInt64: ServiceRequest] = [:]
    private var nextRequest: UInt64 = 0
    private var browser: UInt64?
    /// The requests for the records of the services that were found.
    private var queries: [FoundService: UInt64] = [:]
    /// Services that were found when too many others were being asked for.
    private var skipped: Set<FoundService> = []
    private var published: [PublishedPlace: (request: UInt64, name: String)] = [:]
    private var allowance = ReceiveAllowance(now: monotonicMilliseconds())
    private var isClosed = false
    /// Whether the failure of the responder has been reported, so that it is reported once.
    private var isFailureReported = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - received: called on this actor's queue, at most as often as the limits allow.
    ///   - failed: called on this actor's queue when the responder can't be reached.
    ///   - random: returns random numbers, for the names of services.
    package init(
      received: @escaping @Sendable ([UInt8], BeaconOrigin) -> Void,
      failed: @escaping @Sendable (ServiceError) -> Void, random: @escaping @Sendable () -> UInt64
    ) {
      self.received = received
      self.failed = failed
      self.random = random
      // Otherwise Avahi's library writes to standard error that its own interface is better.
      setenv("AVAHI_COMPAT_NOWARN", "1", 0)
    }

    // MARK: BeaconCarrier

    package nonisolated func start() { enqueue { $0.begin() } }

    package nonisolated func close(whenClosed: @escaping @Sendable () -> Void) {
      enqueue {
        $0.isClosed = true
        $0.endAll()
        whenClosed()
      }
    }

    /// Withdraws services of addresses that this machine no longer has. The responder follows the interfaces by itself.
    package nonisolated func join(_ places: [BeaconInterface]) {
      enqueue { $0.unpublish { !places.contains($0.place) } }
    }

    package nonisolated func send(_ beacons: [[UInt8]], from place: BeaconInterface) -> Int {
      enqueue { $0.publish(beacons, on: place) }
      return beacons.count
    }

    package nonisolated func withdraw() { enqueue { $0.unpublish { _ in true } } }

    private nonisolated func enqueue(_ body: @escaping @Sendable (isolated ServiceBeacons) -> Void) {
      executor.async { self.assumeIsolated(body) }
    }

    // MARK: Requests

    private func begin() {
      guard !isClosed, browser == nil else { return }
      browser = open { ref, context in
        DNSServiceBrowse(&ref, 0, 0, Self.type, nil, serviceFound, context)
      }
    }

    private func publish(_ beacons: [[UInt8]], on place: BeaconInterface) {
      begin()
      guard !isClosed, browser != nil else { return }
      unpublish { $0.place == place && $0.index >= beacons.count }
      for (index, beacon) in beacons.enumerated() {
        let key = PublishedPlace(place: place, index: index)
        let text = BeaconRecord.encoded(beacon)
        if let held = published[key], let request = requests[held.request], request.update(text) { continue }
        unpublish { $0 == key }
        let name = BeaconRecord.name(random: random())
        let request = open { ref, context in
          DNSServiceRegister(
            &ref, 0, place.index, name, Self.type, nil, nil, UInt16(bigEndian: Self.port), UInt16(text.count),
            text, serviceRegistered, context)
        }
        if let request { published[key] = (request, name) }
      }
    }

    private func unpublish(where matches: (PublishedPlace) -> Bool) {
      for (key, held) in published where matches(key) {
        published[key] = nil
        end(held.request)
      }
    }

    /// Opens a request, and watches its descriptor; nil if the responder can't be reached.
    private func open(
      _ call: (inout DNSServiceRef?, UnsafeMutableRawPointer) -> DNSServiceErrorType
    ) -> UInt64? {
      let request = ServiceRequest()
      var ref: DNSServiceRef?
      let code = call(&ref, Unmanaged.passUnretained(request).toOpaque())
      guard code == kDNSServiceErr_NoError, let ref else {
        responderFailed(code)
        return nil
      }
      let id = nextRequest
      nextRequest += 1
      request.begin(ref, executor) { [weak self] in self?.assumeIsolated { $0.readable(id) } }
      requests[id] = request
      return id
    }

    private func readable(_ id: UInt64) {
      guard let request = requests[id] else { return }
      let code = request.process()
      for answer in request.takeAnswers() { handle(answer, to: id) }
      guard code == kDNSServiceErr_NoError else { return responderFailed(code) }
      requests[id]?.watch()
    }

    private func handle(_ answer: ServiceRequest.Answer, to id: UInt64) {
      switch answer {
      case .added(let service): query(service)
      case .removed(let service):
        skipped.remove(service)
        if let request = queries.removeValue(forKey: service) { end(request) }
        if let next = skipped.popFirst() { query(next) }
      case .text(let text):
        guard let service = queries.first(where: { $0.value == id })?.key,
          !published.values.contains(where: { $0.name == service.name }),
          allowance.take(now: monotonicMilliseconds()) == nil, let beacon = BeaconRecord.beacon(in: text)
        else { return }
        received(beacon, .service(interface: interfaceName(service.interface)))
      case .refused(let code): responderFailed(code)
      }
    }

    private func query(_ service: FoundService) {
      guard queries[service] == nil, service.isPlausible,
        !published.values.contains(where: { $0.name == service.name })
      else { return }
      guard queries.count < Limits.foundServicesMax else {
        if skipped.count < Limits.foundServicesMax * 16 { skipped.insert(service) }
        return
      }
      guard let name = service.fullName else { return }
      queries[service] = open { ref, context in
        DNSServiceQueryRecord(
          &ref, 0, service.interface, name, UInt16(kDNSServiceType_TXT), UInt16(kDNSServiceClass_IN),
          recordFound,
          context)
      }
    }

    private func responderFailed(_ code: DNSServiceErrorType) {
      endAll()
      guard !isFailureReported, !isClosed else { return }
      isFailureReported = true
      failed(ServiceError(code: code))
    }

    private func end(_ id: UInt64) { requests.removeValue(forKey: id)?.end() }

    private func endAll() {
      for request in requests.values { request.end() }
      (requests, queries, skipped, published, browser) = ([:], [:], [], [:], nil)
    }

    private func interfaceName(_ index: UInt32) -> String {
      var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
      guard if_indextoname(index, &name) != nil else { return "" }
      return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The type of the services.
    private static let type = "_waymark._tcp"
    /// The port in the SRV record. It is never dialled: the port to dial is in the sealed part of the beacon.
    private static let port: UInt16 = 7_433
  }

  /// A beacon of a round, by the interface that it is for.
  private struct PublishedPlace: Hashable {
    let place: BeaconInterface
    let index: Int
  }

  /// A service that was found on an interface.
  private struct FoundService: Hashable, Sendable {
    let name: String
    let type: String
    let domain: String
    let interface: UInt32

    /// Whether the service can be one of Waymark's, judged by its name.
    var isPlausible: Bool { name.utf8.count == BeaconRecord.nameDigits && name.allSatisfy(\.isHexDigit) }

    /// The name of its records; nil if the parts are not valid.
    var fullName: String? {
      var buffer = [CChar](repeating: 0, count: Int(kDNSServiceMaxDomainName))
      guard DNSServiceConstructFullName(&buffer, name, type, domain) == kDNSServiceErr_NoError else {
        return nil
      }
      return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
  }

  /// One request to the responder. It is used on the queue of its owner only.
  private final class ServiceRequest {
    enum Answer {
      case added(FoundService)
      case removed(FoundService)
      /// The content of a TXT record.
      case text([UInt8])
      case refused(DNSServiceErrorType)
    }

    private var ref: DNSServiceRef?
    private var watched: WatchedDescriptor?
    private var answers: [Answer] = []

    func begin(_ ref: DNSServiceRef, _ executor: QueueExecutor, readable: @escaping @Sendable () -> Void) {
      self.ref = ref
      watched = WatchedDescriptor(copying: DNSServiceRefSockFD(ref), executor, readable: readable)
      watch()
    }

    func watch() { watched?.awaitReadable() }

    /// Replaces the record of a registered service. Returns false if the responder can't.
    func update(_ text: [UInt8]) -> Bool {
      guard let ref else { return false }
      return DNSServiceUpdateRecord(ref, nil, 0, UInt16(text.count), text, 0) == kDNSServiceErr_NoError
    }

    func process() -> DNSServiceErrorType { ref.map { DNSServiceProcessResult($0) } ?? 0 }

    func answered(_ answer: Answer) { answers.append(answer) }

    func takeAnswers() -> [Answer] {
      defer { answers = [] }
      return answers
    }

    func end() {
      watched?.end()
      watched = nil
      if let ref { DNSServiceRefDeallocate(ref) }
      ref = nil
    }
  }

  // MARK: C functions

  private func request(_ context: UnsafeMutableRawPointer?) -> ServiceRequest? {
    context.map { Unmanaged<ServiceRequest>.fromOpaque($0).takeUnretainedValue() }
  }

  private func serviceFound(
    _ ref: DNSServiceRef?, _ flags: DNSServiceFlags, _ interface: UInt32, _ code: DNSServiceErrorType,
    _ name: UnsafePointer<CChar>?, _ type: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?,
    _ context: UnsafeMutableRawPointer?
  ) {
    guard let request = request(context) else { return }
    guard code == kDNSServiceErr_NoError, let name, let type, let domain else {
      return request.answered(.refused(code))
    }
    let service = FoundService(
      name: String(cString: name), type: String(cString: type), domain: String(cString: domain),
      interface: interface)
    let isAdded = flags & DNSServiceFlags(kDNSServiceFlagsAdd) != 0
    request.answered(isAdded ? .added(service) : .removed(service))
  }

  private func recordFound(
    _ ref: DNSServiceRef?, _ flags: DNSServiceFlags, _ interface: UInt32, _ code: DNSServiceErrorType,
    _ name: UnsafePointer<CChar>?, _ type: UInt16, _ recordClass: UInt16, _ length: UInt16,
    _ data: UnsafeRawPointer?, _ lifetime: UInt32, _ context: UnsafeMutableRawPointer?
  ) {
    guard code == kDNSServiceErr_NoError, flags & DNSServiceFlags(kDNSServiceFlagsAdd) != 0, let data else {
      return
    }
    request(context)?.answered(.text(Array(UnsafeRawBufferPointer(start: data, count: Int(length)))))
  }

  private func serviceRegistered(
    _ ref: DNSServiceRef?, _ flags: DNSServiceFlags, _ code: DNSServiceErrorType,
    _ name: UnsafePointer<CChar>?,
    _ type: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?
  ) {
    guard code != kDNSServiceErr_NoError else { return }
    request(context)?.answered(.refused(code))
  }
#endif

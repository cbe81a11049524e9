package import Transport

/// Returns the carrier of beacons as DNS services; nil in a build without it.
///
/// - Parameters:
///   - received: called with each beacon, on a thread of its own, at most as often as the limits allow.
///   - failed: called once when the system's responder can't be reached.
///   - random: returns random numbers, for the names of services.
package func serviceBeacons(
  received: @escaping @Sendable ([UInt8], BeaconOrigin) -> Void,
  failed: @escaping @Sendable (ServiceError) -> Void, random: @escaping @Sendable () -> UInt64
) -> (any BeaconCarrier)? {
  #if Bonjour
    ServiceBeacons(received: received, failed: failed, random: random)
  #else
    nil
  #endif
}

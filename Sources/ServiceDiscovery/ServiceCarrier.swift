package import Transport

/// Returns the carrier of beacons as DNS services; nil in a build without it.
///
/// - Parameters:
///   - received: called with each beacon, on a thread of its own, at most as often as the limits allow.
///   - failed: called once when the system's responder can't be reached.
package func serviceBeacons(
  received: @escaping @Sendable ([UInt8], BeaconOrigin) -> Void,
  failed: @escaping @Sendable (ServiceError) -> Void
) -> (any BeaconCarrier)? {
  #if Bonjour
    ServiceBeacons(received: received, failed: failed)
  #else
    nil
  #endif
}

// Protocol/discovery.md, "What goes where" and "As DNS services".

/// A way in which sealed beacons travel to the devices on the same networks.
package protocol BeaconCarrier: AnyObject, Sendable {
  /// Starts to receive beacons.
  func start()

  /// Stops receiving, and withdraws what is published. Calling it again does nothing.
  ///
  /// - Parameter whenClosed: called once nothing is open any more.
  func close(whenClosed: @escaping @Sendable () -> Void)

  /// Uses these interfaces from now on.
  func join(_ places: [BeaconInterface])

  /// Sends the beacons of one round from an interface. They replace those of the round before.
  ///
  /// - Returns: the number of beacons sent.
  func send(_ beacons: [[UInt8]], from place: BeaconInterface) -> Int

  /// Withdraws what is published, because no device is missing.
  func withdraw()
}

/// Where a beacon came from.
package enum BeaconOrigin: Sendable {
  /// A datagram, from this address.
  case datagram(SocketAddress)
  /// A service that this machine's responder found on an interface.
  case service(interface: String)
}
